import * as Type from 'typebox'
import { component } from '../../kernel/rest-parts.ts'
import { textOrNull } from '../../kernel/schema-fields.ts'

const Check = Type.Object({
  name: Type.Enum(['store', 'logs', 'disk']),
  ok: Type.Boolean(),
  detail: textOrNull('The reason, when `ok` is false'),
})
type Check = Type.Static<typeof Check>

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
export type Health = Type.Static<typeof Health>
component({ Health }, 'Whether the service works, and what needs attention')

/** What needs a person now. `notices/` provides it. */
interface OpenNotices {
  /** Something that should work does not. */
  readonly isDegraded: boolean
  readonly open: readonly { readonly kind: string; readonly text: string }[]
}

interface Deps {
  readonly version: string
  readonly notices: () => OpenNotices
  /** Each throws an error with a readable message when its check fails. */
  readonly checks: { readonly [N in Check['name']]: () => Promise<void> }
  /** Milliseconds since the start of the service, monotonic. */
  readonly uptimeMs: () => number
}

export function createHealth({ version, notices, checks, uptimeMs }: Deps) {
  /** `isOpen`: the caller may see names. Otherwise the warnings are only counts. */
  return async (isOpen: boolean): Promise<Health> => {
    const names = Object.keys(checks) as Check['name'][]
    const results = await Promise.all(names.map((name) => run(name, checks[name])))
    const { isDegraded, open } = notices()
    const broken = results.some((check) => check.name === 'store' && !check.ok)
    const degraded = isDegraded || results.some((check) => !check.ok)
    const status = broken ? 'broken' : degraded ? 'degraded' : 'ok'
    return {
      status,
      version,
      uptime_s: Math.round(uptimeMs()) / 1000,
      checks: results,
      warnings: isOpen ? open.map(({ text }) => text) : countsOf(open),
    }
  }
}
export type HealthCheck = ReturnType<typeof createHealth>

/** `server_crashed: 2` */
function countsOf(open: OpenNotices['open']): string[] {
  const counts = new Map<string, number>()
  for (const { kind } of open) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => `${kind}: ${count}`)
}

async function run(name: Check['name'], check: () => Promise<void>): Promise<Check> {
  try {
    await check()
    return { name, ok: true, detail: null }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}
