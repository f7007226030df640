import type { LastError } from '../kernel/server-state.ts'
import { within } from '../kernel/time-limit.ts'
import { VERSION } from '../kernel/version.ts'
import { StdioClient } from '../mcp/transports/stdio/stdio-client.ts'
import type { DiscoveredServer } from '../servers/shared/catalogues.ts'
import type { CallTool, TryOut } from '../servers/stdio/actions/trial.ts'
import { launch } from '../supervisor/launcher.ts'
import type { Places } from '../supervisor/places/places.ts'
import { StartFailure } from '../supervisor/process/start-child.ts'
import { gracesWithin } from '../supervisor/process/stop-ladder.ts'
import type { Launched } from '../supervisor/runner.ts'
import type { StartSlots } from '../supervisor/start-slots.ts'

interface Deps extends Pick<Parameters<typeof launch>[0], 'mark' | 'clean'> {
  readonly places: Pick<Places, 'start' | 'lostFiles'>
  readonly slots: StartSlots
}

const EXIT_MS = 500
const CALL_MS = 30_000
const NEVER = new AbortController().signal

/** Starts a server separately from all others. Its output is not logged, and no process is left. */
export function tryOutWith({ mark, slots, ...deps }: Deps): TryOut {
  const { clean } = deps
  let trials = 0
  return async (definition, startMs, watch) => {
    trials += 1
    let found: DiscoveredServer | undefined
    let client: StdioClient | undefined
    const own = `${mark}/trial-${trials}/`
    const connect: Parameters<typeof launch>[0]['connect'] = (streams) => {
      client = new StdioClient({
        ...streams,
        version: VERSION,
        startMs,
        clean,
        onTools: (list, { era: _, ...handshake }) => {
          found = { ...handshake, ...list }
        },
      })
      return client
    }
    const placed = { ...definition, serverId: null }
    const graces = () => gracesWithin(2)
    const release = await slots.acquire(NEVER)
    let launched: Launched | undefined
    try {
      launched = await launch({
        ...deps,
        definition: placed,
        mark: own,
        graces,
        onLine: () => {},
        connect,
      })
      const exited = launched.ended.then(() => Promise.reject(new Error('It exited')))
      await Promise.race([launched.ready(), exited])
      if (found && client && !client.listError) {
        const running = client
        const call: CallTool = async (tool, args) =>
          (await running.call(tool, args, { timeoutMs: CALL_MS })).value
        await watch?.use(call)
        return { ok: true, found, stderr_tail: launched.tail }
      }
      throw new StartFailure(client?.listError ?? NO_TOOLS, false)
    } catch (error) {
      return { ok: false, error: await reasonOf(error, launched), stderr_tail: launched?.tail ?? [] }
    } finally {
      release?.()
      if (watch && launched) {
        // Without this list the trial is still worth its report, and the process must be ended.
        const lost = await deps.places.lostFiles(launched.pid, placed).catch(() => undefined)
        if (lost) watch.onLost(lost.paths, lost.count)
      }
      await launched?.stop(() => {})
    }
  }
}

const NO_TOOLS: LastError = {
  code: 'not_mcp',
  message: 'It listed no tools',
  hint: null,
  action: { kind: 'edit_command' },
}

/** The streams close a moment before the process exits, and its exit explains more. */
async function reasonOf(error: unknown, launched: Launched | undefined): Promise<LastError> {
  const exit = launched && (await within(launched.ended, EXIT_MS))
  if (launched && exit !== undefined && exit !== 'late') return launched.explain(exit, false)
  if (error instanceof StartFailure) return error.error
  return { code: 'internal_error', message: String(error), hint: null }
}
