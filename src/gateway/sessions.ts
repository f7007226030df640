import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Reply } from './reply.ts'

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
  readonly open: Map<string | number, Reply>
  /** Questions of servers that wait for its answer. */
  readonly asked: Map<string, (answer: { result?: unknown; error?: unknown }) => void>
  /** Where it hears what happens without being asked. */
  stream: ServerResponse | undefined
  usedAt: number
}

const MOST = 1000
const IDLE_MS = 24 * 3_600_000

/** Who has said hello. A session belongs to the key that opened it. */
export class Sessions {
  readonly #now: () => number
  readonly #sessions = new Map<string, Session>()

  constructor(now: () => number) {
    this.#now = now
  }

  get all(): Iterable<Session> {
    return this.#sessions.values()
  }

  open(facts: Pick<Session, 'keyId' | 'agentType' | 'serverId' | 'version' | 'capabilities'>): Session {
    const now = this.#now()
    for (const session of this.#sessions.values()) {
      const isFull = this.#sessions.size >= MOST && !session.stream
      if (isFull || (now - session.usedAt > IDLE_MS && !session.stream)) this.end(session)
    }
    const session: Session = {
      ...facts,
      id: randomBytes(16).toString('hex'),
      open: new Map(),
      asked: new Map(),
      stream: undefined,
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
    session.stream?.end()
    for (const reply of session.open.values()) reply.cancel()
  }

  /** A key that was taken away closes what it had opened. */
  close(keyId?: string): void {
    for (const session of [...this.#sessions.values()])
      if (keyId === undefined || session.keyId === keyId) this.end(session)
  }
}
