import { randomBytes } from 'node:crypto'
import { InFlight } from '../../protocol/in-flight.ts'
import { DropCounter } from '../notify/drop-counter.ts'
import { ReplayLogs } from './replay-log.ts'
import { SessionStreams } from './session-streams.ts'

/** A pending request. */
interface Pending {
  cancel(): void
  notify(method: string, params: object): void
}

/** A legacy agent, from `initialize` to its end. */
export interface Session {
  readonly id: string
  readonly keyId: string
  readonly agentType: string
  /** The server of `/mcp/{server_id}`; undefined for `/mcp`. */
  readonly serverId: string | undefined
  readonly version: string
  /** The client capabilities of the agent. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /** Its pending requests, by id. */
  readonly open: InFlight<string | number, Pending>
  /** Requests of servers that wait for the agent's response. */
  readonly serverRequests: Map<string, (response: { result?: unknown; error?: unknown }) => void>
  readonly streams: SessionStreams
  /** Called when the session has ended. */
  readonly onEnd: (() => void)[]
  usedAt: number
}

interface Limits {
  readonly all: number
  readonly perKey: number
}

const LIMITS: Limits = { all: 1000, perKey: 100 }
const IDLE_MS = 24 * 3_600_000
const REPORT_DROPS_MS = 60_000

/** The sessions of legacy agents. A session belongs to the key that opened it. */
export class Sessions {
  readonly #now: () => number
  readonly #onDropped: (session: Session, count: number) => void
  readonly #limits: Limits
  readonly #logs = new ReplayLogs()
  readonly #sessions = new Map<string, Session>()

  /** `onDropped`: notifications were dropped because an agent reads too slowly. */
  constructor(
    now: () => number,
    onDropped: (session: Session, count: number) => void = () => {},
    limits = LIMITS,
  ) {
    this.#now = now
    this.#onDropped = onDropped
    this.#limits = limits
  }

  get all(): Iterable<Session> {
    return this.#sessions.values()
  }

  open(fields: Pick<Session, 'keyId' | 'agentType' | 'serverId' | 'version' | 'capabilities'>): Session {
    const now = this.#now()
    this.#makeRoom(fields.keyId, now)
    const drops = new DropCounter(REPORT_DROPS_MS, (count) => this.#onDropped(session, count))
    const session: Session = {
      ...fields,
      id: randomBytes(16).toString('hex'),
      open: new InFlight(),
      serverRequests: new Map(),
      streams: new SessionStreams(this.#logs.open(), drops, fields.version),
      onEnd: [],
      usedAt: now,
    }
    this.#sessions.set(session.id, session)
    return session
  }

  /** Undefined when the session is unknown, has ended, or belongs to another key or server. */
  find(id: string, { keyId, serverId }: Pick<Session, 'keyId' | 'serverId'>): Session | undefined {
    const session = this.#sessions.get(id)
    if (!session || session.keyId !== keyId || session.serverId !== serverId) return undefined
    session.usedAt = this.#now()
    return session
  }

  end(session: Session): void {
    this.#sessions.delete(session.id)
    for (const reply of session.open.values()) reply.cancel()
    session.streams.close()
    for (const callback of session.onEnd.splice(0)) callback()
  }

  /** Ends all sessions, or those of one key. */
  close(keyId?: string): void {
    for (const session of [...this.#sessions.values()])
      if (keyId === undefined || session.keyId === keyId) this.end(session)
  }

  /** Agents that disconnect without DELETE leave sessions behind. At the limit, the longest idle session ends. */
  #makeRoom(keyId: string, now: number): void {
    const own: Session[] = []
    for (const session of this.#sessions.values()) {
      if (now - session.usedAt > IDLE_MS && !isBusy(session)) this.end(session)
      else if (session.keyId === keyId) own.push(session)
    }
    if (own.length >= this.#limits.perKey) this.#endIdlest(own)
    else if (this.#sessions.size >= this.#limits.all) this.#endIdlest([...this.#sessions.values()])
  }

  #endIdlest(sessions: readonly Session[]): void {
    const [idlest] = sessions.toSorted(
      (one, other) => Number(isBusy(one)) - Number(isBusy(other)) || one.usedAt - other.usedAt,
    )
    if (idlest) this.end(idlest)
  }
}

const isBusy = ({ open, streams }: Session): boolean => open.size > 0 || streams.isListening
