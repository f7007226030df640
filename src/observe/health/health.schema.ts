import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, orNull } from '../../kernel/wire.ts'

const Check = Type.Object({
  name: Type.Enum(['store', 'logs', 'disk']),
  ok: Type.Boolean(),
  detail: orNull(Type.String({ description: 'The reason, when `ok` is false' })),
})
export type Check = Static<typeof Check>

export const Health = Type.Object({
  status: Type.Enum(['ok', 'degraded', 'broken'], {
    description:
      '`degraded`: a server that should work does not, or a check, the disk or a setting needs attention. `broken`: the configuration database cannot be used, and the response is a 503.',
  }),
  version: Type.String({ examples: ['0.1.0'] }),
  uptime_s: Type.Number({ examples: [3600.5] }),
  checks: Type.Array(Check),
  warnings: Type.Array(Type.String({ examples: ["'postgres' crashed. Read its last lines"] }), {
    description: 'The open notices of `GET /api/notices`',
  }),
})
export type Health = Static<typeof Health>
component({ Health }, 'Whether the service works, and what needs attention')
