import type { FactBus, Facts } from '../../kernel/fact-bus.ts'
import type { Orphan } from '../../kernel/orphan-process.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { NoticeBoard } from './notice-board.ts'
import * as cause from './notice-causes.ts'
import type { Cause } from './notices.schema.ts'

/** Where causes are found. `compose/observe.ts` connects them. */
export interface CauseSources {
  readonly facts: FactBus
  readonly upstreams: Pick<Upstreams, 'all' | 'get'>
  /** Whether all servers and packages are known. Before, nothing is resolved because it is missing. */
  readonly isComplete: () => boolean
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
export class CauseWatch {
  readonly #sources: CauseSources
  readonly #board: NoticeBoard
  readonly #timers: readonly NodeJS.Timeout[]
  readonly #stops: readonly (() => void)[]
  #soon: NodeJS.Timeout | undefined

  constructor(sources: CauseSources, board: NoticeBoard, everySecond: () => void) {
    this.#sources = sources
    this.#board = board
    this.#timers = [
      setInterval(everySecond, CHECK_EVERY_MS).unref(),
      setInterval(() => void this.#checkOrphans(), ORPHANS_EVERY_MS).unref(),
    ]
    const { facts } = sources
    this.#stops = [
      facts.on('server_status', (fact) => this.#statusChanged(fact)),
      facts.on('http_server_check', () => this.#checkServersSoon()),
      facts.on('server_removed', ({ server_id }) => board.forgetServer(server_id)),
      facts.on('tools_changed', (fact) => this.#toolsChanged(fact)),
      facts.on('agent_changed', ({ agent_type }) => this.checkAgents(agent_type)),
    ]
  }

  /** Looks at everything that is in memory. */
  check(): void {
    const { isComplete, packages, settings } = this.#sources
    if (!isComplete()) return
    this.#checkServers()
    this.#checkHeld()
    this.#checkDisk()
    this.#board.exist(['package_update', 'package_deprecated'], packages().flatMap(cause.packageCauses))
    this.#board.exist(['weak_token', 'settings'], settings())
  }

  /** Looks at the files of agents: of this one, or of all. */
  checkAgents(agentType?: string): void {
    const causes = this.#sources.agentFiles(agentType).map(cause.fileTrouble)
    const isOther = (type: string | null) => agentType !== undefined && type !== agentType
    this.#board.exist(AGENT_KINDS, causes, ({ agent_type }) => isOther(agent_type))
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#soon)
    for (const stop of this.#stops) stop()
  }

  #checkServers(): void {
    const { isComplete, upstreams } = this.#sources
    if (!isComplete()) return
    const unsettled = new Set<string>()
    const causes: Cause[] = []
    for (const upstream of upstreams.all()) {
      const { trouble } = upstream
      if (trouble === 'unsettled') unsettled.add(upstream.id)
      else if (trouble) causes.push(cause.serverTrouble(upstream, trouble))
    }
    this.#board.exist(cause.SERVER_KINDS, causes, ({ server_id }) => unsettled.has(server_id ?? ''))
  }

  #checkServersSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.#checkServers()
    }, CHECK_SOON_MS).unref()
  }

  #checkHeld(): void {
    const { upstreams, heldTools } = this.#sources
    const held = upstreams.all().flatMap((upstream) => {
      const names = heldTools?.(upstream.id) ?? []
      return names.length === 0 ? [] : [cause.toolsHeld(upstream, names)]
    })
    this.#board.exist(['tools_held'], held)
  }

  #checkDisk(): void {
    const failure = this.#sources.logFailure()
    const full = this.#sources.diskIsFull() ? [cause.diskFull()] : []
    const log = failure === undefined ? [] : [cause.logLinesLost(failure)]
    this.#board.exist(['disk'], [...full, ...log])
  }

  async #checkOrphans(): Promise<void> {
    this.#board.exist(['leaked_processes'], cause.leakedProcesses(await this.#sources.orphans()))
  }

  #statusChanged({ server_id, state, error }: Facts['server_status']): void {
    const upstream = this.#sources.upstreams.get(server_id)
    if (!upstream) return
    const { trouble } = upstream
    if (trouble && trouble !== 'unsettled' && state.status !== 'running')
      this.#board.happened(cause.serverTrouble(upstream, trouble))
    else if (state.status === 'idle' && error) {
      const crash = { ...error, kind: 'crashed', what: 'crashed' } as const
      this.#board.happened(cause.serverTrouble(upstream, crash), true)
    }
    this.#checkServersSoon()
  }

  #toolsChanged({ server_id, added, removed, changed, tool_count }: Facts['tools_changed']): void {
    const { upstreams, heldTools } = this.#sources
    const upstream = upstreams.get(server_id)
    const isFirstListing = added.length === tool_count && removed.length === 0
    const isChanged = added.length + removed.length + changed.length > 0
    if (!upstream || heldTools || isFirstListing || !isChanged) return
    this.#board.happened(cause.toolsChanged(upstream, { added, removed, changed }))
  }
}
