import { randomBytes } from 'node:crypto'
import { InFlight } from '../../protocol/in-flight.ts'
import { Drops } from '../notify/drop-counter.ts'
import { EventLogs } from './replay-log.ts'
import { Streams } from './session-streams.ts'

/** What is to be done with a request before it is answered. */
interface UnderWay {
  cancel(): void
  tell(method: string, params: unknown): void
}

/** A legacy agent between its `initialize` and its end. */
export interface Session {
  readonly id: string
  readonly keyId: string
  readonly agentType: string
  /** The server it is about; undefined for all. */
  readonly serverId: string | undefined
  readonly version: string
  /** What it can be asked. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /** Its requests that are under way, by their ids. */
  readonly open: InFlight<string | number, UnderWay>
  /** Questions of servers that wait for its answer. */
  readonly asked: Map<string, (answer: { result?: unknown; error?: unknown }) => void>
  /** Where it hears what is said before answers, and without being asked. */
  readonly streams: Streams
  /** Called when it is over. */
  readonly atEnd: (() => void)[]
  usedAt: number
}

interface Limits {
  readonly all: number
  readonly perKey: number
}

const LIMITS: Limits = { all: 1000, perKey: 100 }
const IDLE_MS = 24 * 3_600_000
const DROPS_MS = 60_000

/** Who has said hello. A session belongs to the key that opened it. */
export class Sessions {
  readonly #now: () => number
  readonly #onDropped: (session: Session, count: number) => void
  readonly #limits: Limits
  readonly #logs = new EventLogs()
  readonly #sessions = new Map<string, Session>()

  /** `onDropped` hears of what an agent was not told because it reads too slowly. */
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

  open(facts: Pick<Session, 'keyId' | 'agentType' | 'serverId' | 'version' | 'capabilities'>): Session {
    const now = this.#now()
    this.#makeRoom(facts.keyId, now)
    const drops = new Drops(DROPS_MS, (count) => this.#onDropped(session, count))
    const session: Session = {
      ...facts,
      id: randomBytes(16).toString('hex'),
      open: new InFlight(),
      asked: new Map(),
      streams: new Streams(this.#logs.open(), drops, facts.version),
      atEnd: [],
      usedAt: now,
    }
    this.#sessions.set(session.id, session)
    return session
  }

  /** Undefined for one that is unknown, ended, or of another key or server. */
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
    for (const over of session.atEnd.splice(0)) over()
  }

  /** A key that was taken away closes what it had opened. */
  close(keyId?: string): void {
    for (const session of [...this.#sessions.values()])
      if (keyId === undefined || session.keyId === keyId) this.end(session)
  }

  /** Agents that never say goodbye leave sessions behind. The one that was idle for the longest time goes first. */
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
