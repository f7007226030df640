import type { CallRequest } from '../kernel/calling.routes.ts'
import { type AskedRelay, type CallResult, createCaller, refuseUnknownTool } from '../kernel/calling.ts'
import { toolListOf } from '../kernel/catalogue.ts'
import { AppError } from '../kernel/errors.ts'
import type { ToolList } from '../kernel/tool-fields.ts'
import type { HttpServer } from './http-servers.schema.ts'
import { findingOf } from './remote.ts'
import type { ConnectionReport, Status } from './report.schema.ts'
import { type Connectedness, Watch, type WatchDeps } from './watch.ts'

interface Deps extends WatchDeps {
  readonly get: (key: string) => Promise<HttpServer>
}

const NEVER: Connectedness = {
  status: 'unknown',
  latencyMs: null,
  checkedAt: null,
  nextCheckAt: null,
  lastError: null,
}

/** Everything for which a server has to be reached. */
export function createReaching(deps: Deps) {
  const { get, catalogues, remotes } = deps
  const watches = new Map<string, Watch>()
  const called = createCaller(deps.facts)
  const known = (id: string): Connectedness => watches.get(id)?.known ?? NEVER

  async function ready(server: HttpServer, timeoutMs: number) {
    const watch = watches.get(server.id)
    if (!server.enabled || !watch)
      throw new AppError('server_not_running', `'${server.name}' is disabled`, { hint: 'Enable it first' })
    return watch.connected(Math.min(timeoutMs, server.timeouts.connect_s * 1000))
  }

  return {
    known,

    /** A new server, or a new definition of a known one. */
    watch(server: HttpServer): void {
      const watch = watches.get(server.id)
      if (watch) watch.changed(server)
      else watches.set(server.id, new Watch(server, deps))
    },

    forget(id: string): void {
      watches.get(id)?.close()
      watches.delete(id)
      catalogues.forget(id)
    },

    close(): void {
      for (const watch of watches.values()) watch.close()
    },

    /** Where each is, for who follows the changes. */
    states: (): { server_id: string; type: 'http'; status: Status }[] =>
      [...watches].map(([server_id, watch]) => ({ server_id, type: 'http', status: watch.known.status })),

    /** How many are in which status. */
    statuses(): Partial<Record<Status, number>> {
      const counts: Partial<Record<Status, number>> = {}
      for (const { known: each } of watches.values()) counts[each.status] = (counts[each.status] ?? 0) + 1
      return counts
    },

    async test(key: string): Promise<ConnectionReport> {
      const server = await get(key)
      const startedAt = performance.now()
      const report = await remotes.probe(server)
      watches.get(server.id)?.tested(report, performance.now() - startedAt)
      return report
    },

    async tools(key: string): Promise<ToolList> {
      const server = await get(key)
      const catalogue = catalogues.of(server.id)
      const { status, lastError } = known(server.id)
      if (catalogue) return toolListOf(catalogue, status === 'connected' ? 'live' : 'cache')
      const why = lastError ? `: ${lastError.message}` : ''
      const hint = lastError?.hint ?? 'Test its connection first'
      throw new AppError('server_not_running', `The tools of '${server.name}' are not known yet${why}`, {
        hint,
      })
    },

    /** The result as the server sent it. */
    async call(key: string, asked: CallRequest): Promise<CallResult> {
      const server = await get(key)
      const { tool, args, signal, meta, onProgress } = asked
      const timeoutMs = (asked.timeout_s ?? server.timeouts.request_s) * 1000
      const deadline = performance.now() + timeoutMs
      refuseUnknownTool(server, 'http-servers', tool, catalogues.of(server.id))
      return called(server, { ...asked, timeoutMs }, async () => {
        try {
          const remote = await ready(server, timeoutMs)
          refuseUnknownTool(server, 'http-servers', tool, catalogues.of(server.id))
          const left = Math.max(1, deadline - performance.now())
          return await remote.call(tool, args, { timeoutMs: left, signal, meta, onProgress })
        } catch (error) {
          throw translated(server.name, tool, error)
        }
      })
    },

    /** Whatever else a server can be asked. */
    async relay(key: string, { method, params, signal }: AskedRelay): Promise<CallResult> {
      const server = await get(key)
      const timeoutMs = server.timeouts.request_s * 1000
      const remote = await ready(server, timeoutMs)
      return remote.relay(method, params, { timeoutMs, signal })
    },
  }
}

/** What only the way to the server can say. The rest is the same for every call. */
function translated(name: string, tool: string, error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error) || 'failure' in error || !('code' in error))
    return error
  const { code, message, hint } = findingOf(error)
  const late = code === 'timeout' || code === 'connect_timeout'
  return new AppError(
    late ? 'call_timeout' : 'call_failed',
    `The call of '${tool}' on '${name}' failed: ${message}`,
    {
      ...(hint !== null && { hint }),
      cause: error,
    },
  )
}
