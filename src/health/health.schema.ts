import type { Static } from 'typebox'
import * as Type from 'typebox'
import { orNull } from '../kernel/wire.ts'

const Check = Type.Object({
  name: Type.Enum(['store', 'logs', 'disk']),
  ok: Type.Boolean(),
  detail: orNull(Type.String({ description: 'What is wrong, in a sentence' })),
})
export type Check = Static<typeof Check>

export const Health = Type.Object({
  status: Type.Enum(['ok', 'degraded', 'broken'], {
    description:
      '`degraded`: works, but something needs you. `broken`: the store cannot be used; the answer is 503.',
  }),
  version: Type.String({ examples: ['0.1.0'] }),
  uptime_s: Type.Number({ examples: [3600.5] }),
  checks: Type.Array(Check),
  warnings: Type.Array(Type.String({ examples: ['AUTH_TOKEN is weak'] })),
})
export type Health = Static<typeof Health>
