import { type Client, createClient } from '../../../src/api/client/client.ts'
import type { paths } from '../../generated/api.d.ts'

const headerName =
  document.querySelector<HTMLMetaElement>('meta[name="token-header"]')?.content ?? 'X-SVC-Token'

/** The header that carries the token. The development server fills in nothing. */
export const TOKEN_HEADER = headerName.startsWith('%') ? 'X-SVC-Token' : headerName

/** The typed client of the REST API. Pages use `api()` of `./api.ts`. */
export function clientWith(token: string | undefined): Client<paths> {
  return createClient<paths>({
    address: location.origin,
    headerName: TOKEN_HEADER,
    ...(token !== undefined && { token }),
  })
}
