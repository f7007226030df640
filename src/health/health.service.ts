import type { Check, Health } from './health.schema.ts'

export interface Deps {
  readonly version: string
  readonly warnings: readonly string[]
  /** Each throws an error with a readable message when its check fails. */
  readonly checks: { readonly [N in Check['name']]: () => Promise<void> }
  /** Milliseconds since the start of the service, monotonic. */
  readonly uptimeMs: () => number
}

export function createHealth({ version, warnings, checks, uptimeMs }: Deps) {
  return async (): Promise<Health> => {
    const names = Object.keys(checks) as Check['name'][]
    const results = await Promise.all(names.map((name) => run(name, checks[name])))
    const broken = results.some((check) => check.name === 'store' && !check.ok)
    const degraded = warnings.length > 0 || results.some((check) => !check.ok)
    const status = broken ? 'broken' : degraded ? 'degraded' : 'ok'
    return {
      status,
      version,
      uptime_s: Math.round(uptimeMs()) / 1000,
      checks: results,
      warnings: [...warnings],
    }
  }
}
export type HealthCheck = ReturnType<typeof createHealth>

async function run(name: Check['name'], check: () => Promise<void>): Promise<Check> {
  try {
    await check()
    return { name, ok: true, detail: null }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}
