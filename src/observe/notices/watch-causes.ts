import type { FactBus } from '../../kernel/facts.ts'
import type { Orphan } from '../../kernel/orphan.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import * as cause from './causes.ts'
import type { Cause } from './notice.ts'
import type { NoticeBoard } from './notice-board.ts'

/** Where causes are found. `compose/notices.ts` connects them. */
export interface Sources {
  readonly facts: FactBus
  readonly upstreams: Pick<Upstreams, 'all' | 'get'>
  /** The names of the tools of a server that wait for approval. Undefined if changed tools are never held. */
  readonly heldTools: ((serverId: string) => readonly string[]) | undefined
  /** Files that need a person: of this agent, or of all. */
  readonly agentFiles: (agentType: string | undefined) => readonly cause.FileTrouble[]
  readonly packages: () => readonly cause.PackageState[]
  readonly orphans: () => Promise<readonly Orphan[]>
  readonly diskIsFull: () => boolean
  /** Why log lines are being lost; undefined while they are not. */
  readonly logFailure: () => string | undefined
  /** What is wrong with the settings. */
  readonly settings: () => readonly Cause[]
}

const CHECK_EVERY_MS = 1000
/** When many servers start, their states change many times a second. */
const CHECK_SOON_MS = 200
/** Reading the process table takes some milliseconds. */
const ORPHANS_EVERY_MS = 30_000
const AGENT_KINDS = ['agent_file_edited', 'agent_file_unreadable'] as const

/**
 * Reports causes to the board: crashes and changed tools when they happen, agents' files when they change, and everything
 * else whenever it is looked at, which is at least once a second.
 */
export function watchCauses(sources: Sources, board: NoticeBoard, everySecond: () => void) {
  const { facts, upstreams, heldTools } = sources
  const checkTimer = setInterval(everySecond, CHECK_EVERY_MS).unref()
  const orphanTimer = setInterval(() => void checkOrphans(), ORPHANS_EVERY_MS).unref()

  function checkServers(): void {
    const unsettled = new Set<string>()
    const causes: Cause[] = []
    for (const upstream of upstreams.all()) {
      const { trouble } = upstream
      if (trouble === 'unsettled') unsettled.add(upstream.id)
      else if (trouble) causes.push(cause.serverTrouble(upstream, trouble))
    }
    board.exist(cause.SERVER_KINDS, causes, ({ server_id }) => unsettled.has(server_id ?? ''))
  }

  let soon: NodeJS.Timeout | undefined
  const checkServersSoon = () => {
    soon ??= setTimeout(() => {
      soon = undefined
      checkServers()
    }, CHECK_SOON_MS).unref()
  }

  function checkHeld(): void {
    const held = upstreams.all().flatMap((upstream) => {
      const names = heldTools?.(upstream.id) ?? []
      return names.length === 0 ? [] : [cause.toolsHeld(upstream, names)]
    })
    board.exist(['tools_held'], held)
  }

  function checkDisk(): void {
    const failure = sources.logFailure()
    const full = sources.diskIsFull() ? [cause.diskFull()] : []
    const log = failure === undefined ? [] : [cause.logLinesLost(failure)]
    board.exist(['disk'], [...full, ...log])
  }

  function check(): void {
    checkServers()
    checkHeld()
    checkDisk()
    board.exist(['package_update', 'package_deprecated'], sources.packages().flatMap(cause.packageCauses))
    board.exist(['weak_token', 'settings'], sources.settings())
  }

  async function checkOrphans(): Promise<void> {
    board.exist(['leaked_processes'], cause.leakedProcesses(await sources.orphans()))
  }

  function checkAgents(agentType?: string): void {
    const causes = sources.agentFiles(agentType).map(cause.fileTrouble)
    const isOther = (type: string | null) => agentType !== undefined && type !== agentType
    board.exist(AGENT_KINDS, causes, ({ agent_type }) => isOther(agent_type))
  }

  const stops = [
    facts.on('server_status', ({ server_id, state, error }) => {
      const upstream = upstreams.get(server_id)
      if (!upstream) return
      const { trouble } = upstream
      if (trouble && trouble !== 'unsettled' && state.status !== 'running')
        board.happened(cause.serverTrouble(upstream, trouble))
      else if (state.status === 'idle' && error) {
        const crash = { kind: 'crashed', what: 'crashed', message: error.message, hint: error.hint } as const
        board.happened(cause.serverTrouble(upstream, crash), true)
      }
      checkServersSoon()
    }),
    facts.on('http_server_check', checkServersSoon),
    facts.on('server_removed', ({ server_id }) => board.forgetServer(server_id)),
    facts.on('tools_changed', ({ server_id, added, removed, changed, tool_count }) => {
      const upstream = upstreams.get(server_id)
      const isFirstListing = added.length === tool_count && removed.length === 0
      const isChanged = added.length + removed.length + changed.length > 0
      if (!upstream || heldTools || isFirstListing || !isChanged) return
      board.happened(cause.toolsChanged(upstream, { added, removed, changed }))
    }),
    facts.on('agent_changed', ({ agent_type }) => checkAgents(agent_type)),
  ]

  return {
    check,
    checkAgents,
    close(): void {
      clearInterval(checkTimer)
      clearTimeout(soon)
      clearInterval(orphanTimer)
      for (const stop of stops) stop()
    },
  }
}
