import { randomBytes } from 'node:crypto'
import { InFlight } from '../../mcp/client/pending-requests.ts'
import type { CallingClient, ClientProfile, InstanceOwner } from '../../mcp/protocol/call-options.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { RpcError } from '../messages/rpc-error.ts'
import { type AskedSession, askSession } from './ask-session.ts'
import { DropCounter, ReplayBuffers } from './event-stream.ts'
import type { OnInstanceNote } from './modern-request-client.ts'
import { SessionStreams } from './session-streams.ts'

/** What an agent sees: the servers of its agent type, or only the server of its endpoint. */
export interface AgentScope {
  readonly agentType: string
  /** The server of `/mcp/{server_id}`; undefined for `/mcp`. */
  readonly serverId: string | undefined
}

/** The key that a request was sent with, and its scope. */
export interface Access extends AgentScope {
  readonly keyId: string
}

interface PendingRequest {
  cancel(): void
  notify(method: string, params: object): void
}

/** The session of a legacy agent, from `initialize` to its end. */
export interface Session extends Access, AskedSession {
  readonly id: string
  /** The negotiated protocol version. */
  version: string
  /** The session as the client of servers. */
  readonly client: SessionClient
  /** Pending requests of the agent, by id. */
  readonly pending: InFlight<unknown, PendingRequest>
  readonly streams: SessionStreams
  /** Called when the session has ended. */
  readonly onEnd: (() => void)[]
  /** What is counted for it. */
  readonly keptBytes: number
  usedAt: number
}

/** What happens in servers that run for one session alone. */
export interface InstanceEvents {
  readonly onNote: (session: Session, ...note: Parameters<OnInstanceNote>) => void
  /** A server has started. Its first request waits until this has settled. */
  readonly onStarted: (session: Session, serverId: string) => Promise<unknown> | undefined
}

const MAX_SESSIONS = 1000
const MAX_PER_KEY = 100
const IDLE_MS = 24 * 3_600_000

/** The sessions of legacy agents. A session belongs to the key that opened it. */
export class Sessions {
  readonly #now: () => number
  readonly #onDropped: (session: Session, count: number) => void
  readonly #logs = new ReplayBuffers()
  readonly #sessions = new Map<string, Session>()
  readonly #kept: KeptBytes

  /** `onDropped`: notifications were dropped because an agent reads too slowly. */
  constructor(now: () => number, onDropped: (session: Session, count: number) => void, kept: KeptBytes) {
    this.#now = now
    this.#onDropped = onDropped
    this.#kept = kept
  }

  get all(): Iterable<Session> {
    return this.#sessions.values()
  }

  /** `profileBytes`: the size of the profile as JSON. `events`: of servers that run for this session alone. */
  open(
    { profile, ...fields }: Access & { readonly version: string; readonly profile: ClientProfile },
    profileBytes: number,
    events: InstanceEvents,
  ): Session {
    const now = this.#now()
    const id = randomBytes(16).toString('hex')
    this.#makeRoom(fields.keyId, now)
    const keptBytes = ENTRY_BYTES + PARSED_FACTOR * profileBytes
    this.#kept.take(fields.keyId, keptBytes)
    const drops = new DropCounter((count) => this.#onDropped(session, count))
    const session: Session = {
      ...fields,
      id,
      keptBytes,
      capabilities: profile.capabilities,
      client: new SessionClient({ id, agentType: fields.agentType }, profile, () => session, {
        notify: (...note) => events.onNote(session, ...note),
        onStarted: (serverId) => events.onStarted(session, serverId),
      }),
      pending: new InFlight(),
      serverRequests: new Map(),
      streams: new SessionStreams(this.#logs.open(), drops, fields.version),
      onEnd: [],
      usedAt: now,
    }
    this.#sessions.set(session.id, session)
    return session
  }

  /** Undefined when the session is unknown, has ended, or belongs to another key or server. */
  find(id: string, { keyId, serverId }: Access): Session | undefined {
    const session = this.#sessions.get(id)
    if (!session || session.keyId !== keyId || session.serverId !== serverId) return undefined
    session.usedAt = this.#now()
    return session
  }

  end(session: Session): void {
    if (this.#sessions.delete(session.id)) this.#kept.free(session.keyId, session.keptBytes)
    for (const reply of session.pending.values()) reply.cancel()
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
    if (own.length >= MAX_PER_KEY) this.#endIdlest(own)
    else if (this.#sessions.size >= MAX_SESSIONS) this.#endIdlest([...this.#sessions.values()])
  }

  #endIdlest(sessions: readonly Session[]): void {
    const [idlest] = sessions.toSorted(
      (one, other) => Number(isBusy(one)) - Number(isBusy(other)) || one.usedAt - other.usedAt,
    )
    if (idlest) this.end(idlest)
  }
}

const isBusy = ({ pending, streams }: Session): boolean => pending.size > 0 || streams.isListening

/** The session of a legacy agent as the client of servers. */
class SessionClient implements CallingClient, InstanceOwner {
  readonly id: string
  readonly sessionId: string
  readonly agentType: string
  readonly profile: ClientProfile
  readonly shares = new Set<string>()
  readonly notify: OnInstanceNote
  readonly onStarted: (serverId: string) => Promise<unknown> | undefined
  readonly #session: () => Session

  constructor(
    { id, agentType }: { readonly id: string; readonly agentType: string },
    profile: ClientProfile,
    session: () => Session,
    { notify, onStarted }: Pick<SessionClient, 'notify' | 'onStarted'>,
  ) {
    this.onStarted = onStarted
    this.id = id
    this.sessionId = id
    this.agentType = agentType
    this.profile = profile
    this.#session = session
    this.notify = notify
  }

  get owner(): InstanceOwner {
    return this
  }

  /** On the GET stream, because no request is pending. */
  readonly ask = async (method: string, params: unknown): Promise<unknown> => {
    const session = this.#session()
    return askSession(session, session.streams.getStream, method, params).response
  }
}

/** Identifies a client: by its session or, because a modern one has none, by its key. */
interface Client {
  readonly session: { readonly id: string } | undefined
  readonly keyId: string
}

const MAX_CLIENTS = 2000

/** The server of the page that each client has read last. The page calls the tools of its server by their own names. */
export class LastPages {
  readonly #servers = new Map<string, string>()

  serverOf(client: Client): string | undefined {
    return this.#servers.get(idOf(client))
  }

  /** At the limit, the client that has read no page for the longest time is dropped. */
  record(client: Client, serverId: string): void {
    const id = idOf(client)
    this.#servers.delete(id)
    this.#servers.set(id, serverId)
    if (this.#servers.size <= MAX_CLIENTS) return
    const [oldest] = this.#servers.keys()
    if (oldest !== undefined) this.#servers.delete(oldest)
  }
}

const idOf = ({ session, keyId }: Client): string => session?.id ?? keyId

const MIB = 1024 * 1024
export interface KeptLimits {
  readonly ofKey: number
  readonly ofAll: number
}
const LIMITS: KeptLimits = { ofKey: 64 * MIB, ofAll: 256 * MIB }

/** What every session, subscription, stream or pending request takes beside its texts. */
export const ENTRY_BYTES = 16 * 1024
/** JSON that was parsed takes up to this much memory per byte. */
export const PARSED_FACTOR = 4

/**
 * Counts the bytes that are kept for agents: their sessions, subscriptions and streams, their pending requests, and bodies
 * that have not arrived completely. What would exceed the limit of its key, or of all keys together, is refused.
 */
export class KeptBytes {
  readonly #limits: KeptLimits
  readonly #ofKeys = new Map<string, number>()
  #ofAll = 0

  constructor(limits = LIMITS) {
    this.#limits = limits
  }

  /** Throws when that is too much. */
  take(keyId: string, bytes: number): void {
    const ofKey = (this.#ofKeys.get(keyId) ?? 0) + bytes
    if (ofKey > this.#limits.ofKey || this.#ofAll + bytes > this.#limits.ofAll)
      throw tooMuch(ofKey > this.#limits.ofKey ? 'this gateway key' : 'all agents', this.#limits)
    this.#ofKeys.set(keyId, ofKey)
    this.#ofAll += bytes
  }

  /** `bytes`: as taken. */
  free(keyId: string, bytes: number): void {
    const ofKey = (this.#ofKeys.get(keyId) ?? 0) - bytes
    if (ofKey > 0) this.#ofKeys.set(keyId, ofKey)
    else this.#ofKeys.delete(keyId)
    this.#ofAll -= bytes
  }
}

function tooMuch(whose: string, { ofKey, ofAll }: KeptLimits): RpcError {
  const most = (whose === 'all agents' ? ofAll : ofKey) / MIB
  const message = `Toolroom keeps at most ${most} MiB for ${whose}: sessions, subscriptions and pending requests`
  return new RpcError(CODES.tooMany, message, {
    status: 429,
    data: { code: 'too_much_kept', hint: 'Wait for pending requests, or end sessions and subscriptions' },
  })
}
