import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { RestartRules } from '../../src/kernel/server-plan.ts'
import type { ServerState } from '../../src/kernel/server-state.ts'
import { NotMcpError } from '../../src/mcp/client/handshake.ts'
import type { JsonRpcPeer } from '../../src/mcp/client/json-rpc-peer.ts'
import { listTools } from '../../src/mcp/client/server-lists.ts'
import { stdioHandshake } from '../../src/mcp/transports/stdio/stdio-client.ts'
import { StdioTransport } from '../../src/mcp/transports/stdio/stdio-transport.ts'
import { launch, type McpConnection, type Streams } from '../../src/supervisor/launcher.ts'
import { type Launched, Runner } from '../../src/supervisor/runner.ts'
import { StartSlots } from '../../src/supervisor/start-slots.ts'
import { groupsOf, NO_ISOLATION, NO_REAPER, ownMark, placesOf } from './marked-processes.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/servers/${name}.mjs`, import.meta.url))

interface Options {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly command?: string
  readonly cwd?: string | null
  readonly rules?: RestartRules
  readonly sleeps?: boolean
  readonly startMs?: number
  readonly slots?: StartSlots
  readonly now?: () => number
  /** Before a process and its children are ended, also those of one that has ended by itself. */
  readonly beforeEnd?: () => Promise<void>
}

/** A runner with a real process, and all its status events. */
export function runnerOf(name: string, options: Options = {}) {
  const mark = ownMark()
  const states: ServerState[] = []
  const lines: string[] = []
  const watched = new Set<number>()
  const groups = groupsOf(mark, {
    ...NO_REAPER,
    watch: ({ leader }) => void watched.add(leader),
    forget: ({ leader }) => void watched.delete(leader),
  })
  let peer: JsonRpcPeer | undefined
  const connect = ({ input, output }: Streams): McpConnection => {
    let lose = () => {}
    const lost = new Promise<void>((resolve) => {
      lose = resolve
    })
    output.once('close', () => lose())
    const { peer: own } = new StdioTransport({
      input,
      output,
      onStrayLine: (bytes) => void lines.push(String(bytes)),
      onNotification: () => {},
    })
    peer = own
    return {
      lost,
      ready: async () => {
        await stdioHandshake(own, { version: '0', timeoutMs: options.startMs ?? 60_000, knownVersion: null })
        await listTools(own, options.startMs ?? 60_000)
      },
      explain: (error) => ({
        error: {
          code: error instanceof NotMcpError ? 'not_mcp' : 'start_timeout',
          message: String(error),
          hint: null,
        },
        retry: !(error instanceof NotMcpError),
      }),
    }
  }
  const runner = new Runner({
    rules: () => options.rules ?? { policy: 'on_failure', max_delay_s: 300 },
    sleeps: () => options.sleeps ?? false,
    slots: options.slots ?? new StartSlots(4, 2000),
    onState: (state) => states.push(state),
    now: options.now ?? Date.now,
    random: () => 0.5,
    launch: async () => {
      const launched = await launch({
        definition: {
          confinement: NO_ISOLATION,
          serverId: null,
          command: options.command ?? process.execPath,
          args:
            options.command === undefined ? [fixture(name), ...(options.args ?? [])] : (options.args ?? []),
          env: options.env ?? {},
          cwd: options.cwd ?? null,
        },
        mark,
        graces: () => ({ stdinMs: 200, termMs: 300 }),
        clean: (text) => text,
        places: placesOf(groups),
        connect,
        onLine: (_, text) => lines.push(text),
      })
      const stop: Launched['stop'] = async (onStep) => {
        await options.beforeEnd?.()
        return launched.stop(onStep)
      }
      return { ...launched, stop }
    },
  })
  onTestFinished(() => runner.stop())
  const statuses = () => states.map(({ status }) => status)
  return { runner, mark, states, statuses, lines, watched, peer: () => peer }
}

/** Of a running server. */
export function pidOf({ state }: Pick<Runner, 'state'>): number {
  if (state.status !== 'running' || state.pid === null) throw new Error(`it is ${state.status}`)
  return state.pid
}
