import {
  hasMoreValues,
  invalidAt,
  isDeeperThan,
  isObject,
  MAX_MESSAGE_DEPTH,
} from '../../kernel/json/json-checks.ts'
import { CallFailure, type FailureReason } from '../protocol/call-failure.ts'
import type {
  CallingClient,
  CallResult,
  ClientDependency,
  OnServerRequest,
  TimedCallOptions,
} from '../protocol/call-options.ts'
import {
  idText,
  MAX_VALUES,
  type Message,
  type RemoteError,
  readMessage,
  remoteErrorOf,
  responseIdIn,
  resultOf,
} from '../protocol/json-rpc-message.ts'
import { type Line, MESSAGE_MAX_BYTES } from '../protocol/line-splitter.ts'
import { CODES } from '../protocol/mcp-constants.ts'
import { RawJson, textOf, withMembers, withMeta } from '../protocol/raw-json.ts'
import { DeadlineTimer, InFlight, RequestDeadline } from './pending-requests.ts'
import {
  clientIdOf,
  clientsOf,
  NO_CLIENT,
  neededCapability,
  ownResult,
  type Related,
  refused,
  relatedRequest,
  SEVERAL_CLIENTS,
  subscriptionIdIn,
} from './server-requests.ts'

/** A message to the server: a request has an id and a method, a notification no id, a response no method. */
export interface Outgoing {
  readonly id?: unknown
  readonly method?: string
  readonly params?: unknown
}

/** Sends messages to the server. */
export interface MessageSender {
  /** Must not throw. A request that cannot be sent is reported with `peer.fail`. */
  readonly send: (text: string, message: Outgoing) => void
  /** Sends one message that is split in three, so that large params are not copied into a string. */
  readonly sendParts: (head: string, middle: Buffer, tail: string, message: Outgoing) => void
  /** The reason why nothing can be sent now. */
  readonly refusal?: () => CallFailure | undefined
  /** The request with this id has been given up. */
  readonly abandon?: (id: number) => void
}

/** How requests are sent. */
export type Requester = Pick<JsonRpcPeer, 'request' | 'requestRaw'>

/** Messages of the server that are not responses. */
export interface PeerEvents {
  /** `clientId`: the client that it concerns. Undefined: all clients. Null: one, but it is unknown which. */
  readonly onNotification: (method: string, params: unknown, clientId: string | null | undefined) => void
  /** The server has sent a request that only a client can answer. */
  readonly onClientRequest?: ((capability: ClientDependency) => void) | undefined
  /** It was refused, because it may concern any of these clients. */
  readonly onSeveralClients?: ((clients: readonly CallingClient[]) => void) | undefined
  /** Answers such a request while no request is pending. */
  readonly ask?: OnServerRequest | undefined
}

interface Options extends PeerEvents {
  readonly sender: MessageSender
}

interface Pending {
  readonly method: string
  readonly options: TimedCallOptions
  readonly isForwarded: boolean
  readonly timeoutMs: number | null
  readonly fail: (error: Error) => void
  readonly succeed: (message: Message, line: Line) => void
  readonly onDeadline: () => void
  dueAt: number | undefined
  deadline: RequestDeadline | undefined
}

/** The specification forbids cancelling `initialize`. A server that does not know `server/discover` may fail on the notification. */
const NEVER_CANCELLED = ['initialize', 'server/discover']

/** JSON-RPC with one server, over any transport. Every request settles exactly once. */
export class JsonRpcPeer {
  readonly #options: Options
  readonly #pending = new InFlight<number, Pending>()
  readonly #deadlines = new DeadlineTimer(() => this.#pending.values())
  #lastId = 0
  #closed: CallFailure | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The parsed result. Rejects with a CallFailure, or with an error of the transport. */
  request(method: string, params: unknown, options: TimedCallOptions): Promise<unknown> {
    return this.#request(
      method,
      params,
      options,
      false,
      (message, { bytes }) => resultOf(message, bytes, false).value,
    )
  }

  /** The same for a request that is forwarded: the result, parsed and as bytes. The server does not work on a subscription. */
  requestRaw(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult> {
    const isForwarded = options.onNotification === undefined && !options.isInternal
    return this.#request(method, params, options, isForwarded, (message, { bytes, borrowed }) =>
      resultOf(message, bytes, borrowed),
    )
  }

  notify(method: string, params?: unknown): void {
    this.#send({ jsonrpc: '2.0', method, params })
  }

  /**
   * Handles one message from the server. Returns false when the bytes are not a message. `requestId`: our request whose
   * response stream carried the message.
   */
  receive(line: Line, requestId?: number): boolean {
    if (line.cut > 0) return this.#failResponse(line.bytes, `is larger than ${LIMIT}`)
    const message = readMessage(line.bytes)
    if (!message) {
      return this.#failResponse(line.bytes, unreadable(line.bytes))
    }
    const { id, method } = message
    if (typeof method !== 'string') this.#settle(message, line)
    else if (id === undefined) this.#dispatch(method, message.params, requestId)
    else this.#respond(idText(line.bytes), method, message.params, requestId)
    return true
  }

  get pendingRequests(): number {
    return this.#pending.size
  }

  isPending(id: number): boolean {
    return this.#pending.has(id)
  }

  /** The request could not be sent, or its response cannot arrive any more. */
  fail(id: number, error: Error): void {
    this.#pending.get(id)?.fail(error)
  }

  /** Fails all pending requests, and every later one. */
  close(reason: string): void {
    if (this.#closed) return
    this.#closed = new CallFailure('closed', reason)
    for (const { fail } of this.#pending.values()) fail(this.#closed)
    this.#deadlines.clear()
  }

  #request<T>(
    method: string,
    params: unknown,
    options: TimedCallOptions,
    isForwarded: boolean,
    take: (message: Message, line: Line) => T,
  ): Promise<T> {
    const { timeoutMs, signal } = options
    if (signal?.aborted) return Promise.reject(new CallFailure('cancelled', `${method} was cancelled`))
    const id = this.#lastId + 1
    // The request id serves as progress token: it is unique in this connection.
    const sent = options.onProgress ? withMeta(params, { progressToken: id }) : params
    const json = sent instanceof RawJson ? sent.json : (JSON.stringify(sent) ?? '')
    const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${json && ',"params":'}`
    const refusal = this.#refusal(method, json, head.length + 1)
    if (refusal) return Promise.reject(refusal)
    this.#lastId = id
    return new Promise((resolve, reject) => {
      const giveUp = (reason: FailureReason, why: string) => {
        fail(new CallFailure(reason, why))
        if (!NEVER_CANCELLED.includes(method))
          this.notify('notifications/cancelled', { requestId: id, reason: why })
        this.#options.sender.abandon?.(id)
      }
      const onAbort = () => giveUp('cancelled', `${method} was cancelled`)
      const onDeadline = () => {
        const extraMs = pending.deadline?.extraMs()
        if (extraMs === undefined)
          giveUp('timeout', `${method} was not answered within ${secondsOf(timeoutMs)}`)
        else this.#deadlines.set(pending, extraMs > 0 ? extraMs : Number.POSITIVE_INFINITY)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      const forget = () => {
        pending.dueAt = undefined
        signal?.removeEventListener('abort', onAbort)
        this.#pending.delete(id)
      }
      const fail = (error: Error) => {
        forget()
        reject(error)
      }
      const succeed = (response: Message, line: Line) => {
        forget()
        resolve(take(response, line))
      }
      const pending: Pending = {
        method,
        options,
        isForwarded,
        timeoutMs,
        fail,
        succeed,
        onDeadline,
        dueAt: Number.POSITIVE_INFINITY,
        deadline: undefined,
      }
      this.#pending.add(id, pending)
      if (timeoutMs !== null) this.#deadlines.set(pending, timeoutMs)
      const { send, sendParts } = this.#options.sender
      const message = { id, method, params: sent instanceof RawJson ? sent.value : sent }
      if (typeof json === 'string') send(`${head}${json}}`, message)
      else sendParts(head, json, '}', message)
    })
  }

  /** Sends a notification or a response. It is dropped when nothing can be sent. */
  #send(message: Readonly<Record<string, unknown>>): void {
    const text = textOf(withMembers(undefined, message))
    if (!this.#refusal('A message', text)) this.#options.sender.send(text, message)
  }

  #refusal(what: string, json: string | Buffer, moreBytes = 0): CallFailure | undefined {
    const refusal = this.#closed ?? this.#options.sender.refusal?.()
    if (refusal) return refusal
    const maxBytes = MESSAGE_MAX_BYTES - moreBytes
    const mayBeTooLarge = json.length * 3 > maxBytes // a UTF-16 code unit takes at most 3 bytes
    if (!mayBeTooLarge || Buffer.byteLength(json) <= maxBytes) return undefined
    return new CallFailure('too_large', `${what} is larger than ${LIMIT}`)
  }

  /** Progress goes to the request it belongs to, and what belongs to a subscription to its subscriber. */
  #dispatch(method: string, params: unknown, requestId: number | undefined): void {
    const { onNotification } = this.#pending.get(subscriptionIdIn(params))?.options ?? {}
    if (onNotification) {
      onNotification(method, params)
      return
    }
    if (method !== 'notifications/progress' || !isObject(params)) {
      const related = this.#relatedRequest(requestId)
      if (method === 'notifications/message' && typeof related === 'object') related.options.onLog?.(params)
      this.#options.onNotification(method, params, clientIdOf(related))
      return
    }
    const { progressToken } = params
    const pending = typeof progressToken === 'number' ? this.#pending.get(progressToken) : undefined
    if (!pending?.options.onProgress) return
    deadlineOf(pending).onProgress()
    pending.options.onProgress(params)
  }

  /** A response whose id is unknown is ignored: it came twice, too late, or unrequested. */
  #settle(message: Message, line: Line): void {
    const pending = typeof message.id === 'number' ? this.#pending.get(message.id) : undefined
    if (!pending) return
    const remote = remoteErrorOf(message, line.bytes)
    if (remote) pending.fail(new CallFailure('remote', remote.message, remote))
    else pending.succeed(message, line)
  }

  /** Responds to a request of the server. `id`: as the server wrote it. */
  #respond(id: RawJson, method: string, params: unknown, requestId: number | undefined): void {
    const capability = neededCapability(method)
    if (capability !== undefined) this.#options.onClientRequest?.(capability)
    const result =
      capability === undefined
        ? ownResult(method)
        : this.#ask(method, params, this.#relatedRequest(requestId))
    result.then(
      (value) => this.#send({ jsonrpc: '2.0', id, result: value }),
      (error: unknown) => this.#send({ jsonrpc: '2.0', id, error: errorOf(error) }),
    )
  }

  /** Asks the client whose request the server is working on. The time until it answers does not count. */
  #ask(method: string, params: unknown, related: Related<Pending>): Promise<unknown> {
    const { ask } = this.#options
    if (related === 'several') {
      this.#options.onSeveralClients?.(clientsOf(this.#pending.values()))
      return refused(CODES.internal, SEVERAL_CLIENTS)
    }
    if (related === 'none') return ask?.(method, params) ?? refused(CODES.internal, NO_CLIENT)
    const { onServerRequest } = related.options
    if (!onServerRequest) return refused(CODES.method, `The client does not support ${method}`)
    const deadline = deadlineOf(related)
    deadline.pause()
    return onServerRequest(method, params).finally(() => deadline.resume())
  }

  #relatedRequest(requestId: number | undefined): Related<Pending> {
    if (requestId !== undefined) return this.#pending.get(requestId) ?? 'none'
    return this.#pending.size === 0 ? 'none' : relatedRequest(this.#pending.values())
  }

  /** A response that cannot be read usually shows its id, so that only this request fails. False when it does not. */
  #failResponse(bytes: Buffer, why: string): boolean {
    const id = responseIdIn(bytes)
    const pending = id === undefined ? undefined : this.#pending.get(id)
    pending?.fail(new CallFailure('too_large', `The response to ${pending.method} ${why}`))
    return pending !== undefined
  }
}

function deadlineOf(pending: Pending): RequestDeadline {
  pending.deadline ??= new RequestDeadline(pending, pending.onDeadline)
  return pending.deadline
}

/** The error of the caller, with its data, as the server would get it from its own client. */
function errorOf(error: unknown): object {
  const { code, message, data } = (error ?? {}) as Partial<Record<keyof RemoteError, unknown>>
  return { code: typeof code === 'number' ? code : CODES.method, message: String(message ?? 'refused'), data }
}

/** Why the bytes are not a message. Names the place, never the text: a result may contain a secret. */
function unreadable(bytes: Buffer): string {
  if (isDeeperThan(bytes, MAX_MESSAGE_DEPTH)) return `is nested deeper than ${MAX_MESSAGE_DEPTH} levels`
  const at = invalidAt(bytes, { start: 0, end: bytes.length })
  if (at >= 0) return `is not valid JSON at byte ${at + 1} of ${bytes.length}`
  return hasMoreValues(bytes, MAX_VALUES) ? `has more than ${MAX_VALUES} values` : 'is not valid JSON'
}

const LIMIT = `${MESSAGE_MAX_BYTES / 1024 / 1024} MiB`

function secondsOf(ms: number | null): string {
  return `${Number(((ms ?? 0) / 1000).toPrecision(3))} s`
}
