import type { Context } from '../frame/context.ts'
import type { Schemas } from '../frame/typed-api.ts'
import { type Span, toned } from '../output/line.ts'
import { isStdio } from './all-servers.ts'
import type { AnyServer } from './state.ts'

type Diagnosis = Schemas['Diagnosis']

/** What Toolroom checked about a server, in the same words for both kinds. */
export function diagnose({ api, during }: Context, server: AnyServer): Promise<Diagnosis> {
  const path = { id: server.id }
  return during(
    `Checking ${server.name}`,
    isStdio(server)
      ? api.post('/api/servers/{id}/diagnose', { path })
      : api.post('/api/http-servers/{id}/diagnose', { path }),
  )
}

/** `command ✓` */
export const checkSpans = (name: string, ok: boolean): Span[] => [
  `${name.replaceAll('_', ' ')} `,
  ok ? toned('ok', '✓') : toned('err', '✕'),
]
