import { type Client, createClient } from '../../../src/client/client.ts'
import type { paths } from '../../generated/api.d.ts'

const headerName =
  document.querySelector<HTMLMetaElement>('meta[name="token-header"]')?.content ?? 'X-SVC-Token'

/** The typed client of the REST API. Pages use `api()` of `./api.ts`. */
export function clientWith(token: string | undefined): Client<paths> {
  const known = headerName.startsWith('%') ? 'X-SVC-Token' : headerName // the development server fills in nothing
  return createClient<paths>({
    address: location.origin,
    headerName: known,
    ...(token !== undefined && { token }),
  })
}
