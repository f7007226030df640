import { AppError } from '../kernel/errors.ts'
import type { ToolList } from '../kernel/tool-fields.ts'
import type { CallResult } from '../protocol/call.ts'
import { CallFailure } from '../protocol/call.ts'
import type { CallRequest } from '../upstreams/calls.routes.ts'
import { type AskedRelay, createCaller, refuseUnknownTool } from '../upstreams/calls.ts'
import { toolListOf } from '../upstreams/catalogues.ts'
import type { HttpServer } from './http-servers.schema.ts'
import { findingOf, type Remote } from './remote.ts'
import type { ConnectionReport, Status } from './report.schema.ts'
import { type Connectedness, Watch, type WatchDeps } from './watch.ts'

interface Deps extends WatchDeps {
  readonly get: (key: string) => Promise<HttpServer>
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
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

  /** A server that has forgotten us has not taken the request: it is asked once more, over a new connection. */
  async function using(
    server: HttpServer,
    timeoutMs: number,
    ask: (remote: Remote, timeoutMs: number) => Promise<CallResult>,
  ): Promise<CallResult> {
    const deadline = performance.now() + timeoutMs
    const left = () => Math.max(1, deadline - performance.now())
    const remote = await ready(server, timeoutMs)
    try {
      return await ask(remote, left())
    } catch (error) {
      if (findingOf(error).code !== 'session_lost') throw error
      const next = await ready(server, left())
      if (next === remote) throw error // it has been greeted again already
      return ask(next, left())
    }
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
      const source = status === 'connected' ? 'live' : 'cache'
      const [names, held] = [deps.gatewayNames(server.id), catalogues.held(server.id)]
      if (catalogue) return toolListOf(catalogue, source, { settings: server, names, held })
      const why = lastError ? `: ${lastError.message}` : ''
      const hint = lastError?.hint ?? 'Test its connection first'
      throw new AppError('server_not_running', `The tools of '${server.name}' are not known yet${why}`, {
        hint,
      })
    },

    /** The result as the server sent it. */
    async call(key: string, asked: CallRequest): Promise<CallResult> {
      const server = await get(key)
      const { tool, args, signal, meta, modernParams, onProgress, onServerRequest, capabilities } = asked
      const timeoutMs = (asked.timeout_s ?? server.timeouts.request_s) * 1000
      refuseUnknownTool(server, 'http-servers', tool, catalogues.of(server.id))
      return called(server, asked, async (times) => {
        const before = performance.now()
        try {
          const along = { signal, meta, modernParams, onProgress, onServerRequest, capabilities }
          return await using(server, timeoutMs, (remote, left) => {
            refuseUnknownTool(server, 'http-servers', tool, catalogues.of(server.id))
            asked.admit?.()
            times.handedAt = performance.now()
            times.start_ms = times.handedAt - before
            return remote.call(tool, args, { ...along, timeoutMs: left })
          })
        } catch (error) {
          throw translated(`The call of '${tool}' on '${server.name}'`, error)
        }
      })
    },

    /** Whatever else a server can be asked. */
    async relay(key: string, { method, params, ...asked }: AskedRelay): Promise<CallResult> {
      const server = await get(key)
      try {
        return await using(server, server.timeouts.request_s * 1000, (remote, left) =>
          remote.relay(method, params, { ...asked, timeoutMs: left }),
        )
      } catch (error) {
        throw translated(`${method} of '${server.name}'`, error)
      }
    },
  }
}

/** What only the way to the server can say. The rest is the same for every call. */
function translated(what: string, error: unknown): unknown {
  if (
    error instanceof AppError ||
    !(error instanceof Error) ||
    error instanceof CallFailure ||
    !('code' in error)
  )
    return error
  const { code, message, hint } = findingOf(error)
  const late = code === 'timeout' || code === 'connect_timeout'
  return new AppError(late ? 'call_timeout' : 'call_failed', `${what} failed: ${message}`, {
    ...(hint !== null && { hint }),
    cause: error,
  })
}
