import { isObject } from '../../kernel/json/json-checks.ts'
import { CallFailure, type FailureReason } from '../protocol/call-failure.ts'
import type {
  CallResult,
  ClientDependency,
  ModernParams,
  OnServerRequest,
  Params,
  TimedCallOptions,
} from '../protocol/call-options.ts'
import { LOG_LINE_MAX_BYTES } from '../protocol/line-splitter.ts'
import type { Definition, ListKind } from '../protocol/listed-definitions.ts'
import { RawJson, withMembers } from '../protocol/raw-json.ts'
import { announcedChanges, ChangeSubscription } from './change-subscription.ts'
import { discover, type HandshakeResult } from './handshake.ts'
import type { PeerEvents, Requester } from './json-rpc-peer.ts'
import { LegacyRequestTranslator, TRANSLATED } from './legacy-request-translator.ts'
import { modernRequester, refuseUnknownState, requestComplete } from './modern-requests.ts'
import { ListWatch, listTools, NO_TOOLS, PromptAndResourceLists, type ToolList } from './server-lists.ts'
import type { Connected, Transport, TransportEvents } from './transport.ts'

export interface ClientEvents {
  /** The tool list, at first and whenever it has changed. */
  readonly onTools: (list: ToolList, handshake: HandshakeResult, transport: Transport['kind']) => void
  /** Prompts, resources or resource templates. These lists are fetched only when this is set. */
  readonly onList?: (kind: ListKind, items: readonly Definition[]) => void
  /** The text of a log notification. */
  readonly onLogText?: (text: string) => void
  /** Every notification that is of interest beyond this connection. */
  readonly onNotification?: PeerEvents['onNotification']
  /** The server has shown that it depends on its client, once for each way. */
  readonly onDependency?: (dependency: ClientDependency) => void
  /** A question of the server was refused, because it may concern any of these clients. */
  readonly onSeveralClients?: PeerEvents['onSeveralClients']
  /** Answers requests of the server while no request is pending. */
  readonly ask?: OnServerRequest | undefined
  /** The server may have lost its state: subscriptions and log levels have to be set again. */
  readonly onReset?: () => void
  /** The connection has ended, and not by `close`. */
  readonly onLost?: (reason: string) => void
}

/** The state of a connection from the handshake on. */
interface Session extends Connected {
  readonly requester: Requester
  /** Only for a modern server. */
  readonly translator: LegacyRequestTranslator | undefined
}

interface Options extends ClientEvents {
  /** Toolroom's version, for the handshake. */
  readonly version: string
  /** Opens the transport and performs the handshake. */
  readonly open: (events: TransportEvents, timeoutMs: number) => Promise<Connected>
  /** The time limit of every list but the first. */
  readonly listTimeoutMs: number
}

const PROBE_MS = 2000
const MESSAGE = 'notifications/message'
const CLOSE_MS = 1000

/** The client side of one MCP connection, over any transport. Single use: after a failure, create a new client. */
export class McpClient {
  readonly #options: Options
  readonly #tools: ListWatch<ToolList>
  readonly #promptsAndResources: PromptAndResourceLists
  #session: Session | undefined
  #changes: ChangeSubscription | undefined
  #modern: Promise<HandshakeResult | null | undefined> | undefined
  /** The first request for the tools has failed. */
  #isUnlisted = false
  #closing: Promise<void> | undefined

  constructor(options: Options) {
    const { listTimeoutMs: timeoutMs, onList } = options
    this.#options = options
    this.#tools = new ListWatch({
      list: async (ms) => listTools(this.#open().requester, ms),
      timeoutMs,
      none: NO_TOOLS,
      onList: (list) => this.#onTools(list),
    })
    this.#promptsAndResources = new PromptAndResourceLists({
      requester: () => this.#open().requester,
      timeoutMs,
      onList: (kind, items) => onList?.(kind, items),
    })
  }

  get handshake(): HandshakeResult | undefined {
    return this.#session?.handshake
  }

  get transport(): Transport['kind'] | undefined {
    return this.#session?.transport.kind
  }

  /** Why the tools could not be listed. The connection is usable all the same, and the list is requested again. */
  get listFailure(): CallFailure | undefined {
    const { failure } = this.#tools
    return isListFailure(failure) ? failure : undefined
  }

  /** Performs the handshake and lists the tools. A server that only cannot list them is connected: see `listFailure`. */
  async connect(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs
    const { transport, handshake } = await this.#options.open(this.#transportEvents(), timeoutMs)
    const isModern = handshake.era === 'modern'
    const requester = isModern ? modernRequester(transport.peer, this.#options.version) : transport.peer
    const translator = isModern ? new LegacyRequestTranslator(requester) : undefined
    this.#session = { transport, handshake, requester, translator }
    if (handshake.capabilities.tasks !== undefined) this.#options.onDependency?.('tasks')
    if (!handshake.capabilities.tools) this.#onTools(NO_TOOLS)
    else
      await this.#tools.fetch(Math.max(1, deadline - performance.now())).catch((error: unknown) => {
        if (!isListFailure(error)) throw error
        this.#isUnlisted = true
      })
    this.#watchChanges(this.#session)
  }

  /** The result of `tools/call` as the server sent it, also when it has `isError`. */
  call(tool: string, args: unknown, options: TimedCallOptions): Promise<CallResult> {
    const { meta, extraParams } = options
    // Small arguments without `_meta` are what nearly all calls have.
    const params =
      meta === undefined &&
      extraParams === undefined &&
      args instanceof RawJson &&
      typeof args.json === 'string'
        ? new RawJson(`{"name":${JSON.stringify(tool)},"arguments":${args.json}}`, {
            name: tool,
            arguments: args,
          })
        : withMembers(extraParams, { name: tool, arguments: args, _meta: meta })
    return this.relay('tools/call', params, options)
  }

  /** The result of any request as the server sent it. Rejects with a CallFailure or a RemoteFailure. */
  relay(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult> {
    const { modernParams, onServerRequest } = options
    if (modernParams) return this.#relayModern(method, params, options, modernParams)
    const listen = onServerRequest && this.#session?.transport.listen
    return listen
      ? this.#relayListening(method, params, options, listen)
      : this.#relay(method, params, options)
  }

  /** Forwards a notification of the client that this connection belongs to. */
  notify(method: string, params: unknown): void {
    this.#session?.transport.peer.notify(method, params)
  }

  /** What the server announces to modern clients. Null: it supports only the legacy era. Undefined: that is not known. */
  async modernCapabilities(): Promise<Params | null | undefined> {
    const handshake = await this.#modernHandshake()
    return handshake ? handshake.capabilities : handshake
  }

  /** Lists the tools again, which shows whether the server is reachable. Without tools, another request does. */
  async refresh(timeoutMs: number): Promise<void> {
    const { requester, handshake } = this.#open()
    const method = handshake.era === 'modern' ? 'server/discover' : 'ping'
    if (handshake.capabilities.tools) await this.#tools.fetchNext(timeoutMs)
    else await requester.request(method, {}, { timeoutMs })
  }

  /** Resolves when everything is closed, within `timeoutMs`. Never rejects. */
  close(timeoutMs = CLOSE_MS): Promise<void> {
    this.#stopWatching()
    this.#closing ??= this.#session?.transport.close(timeoutMs) ?? Promise.resolve()
    return this.#closing
  }

  /** Forwards the params of a modern client unchanged, if the server supports the modern era. */
  async #relayModern(method: string, params: unknown, options: TimedCallOptions, modernParams: ModernParams) {
    const { transport } = this.#open()
    if (await this.#modernHandshake()) return transport.peer.requestRaw(method, modernParams.raw(), options)
    refuseUnknownState(modernParams)
    return this.relay(method, params, { ...options, modernParams: undefined })
  }

  /** The server may send its requests on the notification stream, so that stream must be open first. */
  async #relayListening(
    method: string,
    params: unknown,
    options: TimedCallOptions,
    listen: () => Promise<void>,
  ): Promise<CallResult> {
    await listen()
    return this.#relay(method, params, options)
  }

  #relay(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult> {
    if (!this.#session || this.#closing !== undefined) return Promise.reject(notOpen())
    const { requester, translator } = this.#session
    if (!translator) return requester.requestRaw(method, params, options)
    if (TRANSLATED.includes(method)) return translator.handle(method, params)
    const sent = translator.logLevel === undefined ? params : translator.withLogLevel(params)
    return requestComplete(requester, method, sent, options)
  }

  /** A stdio server with a legacy handshake may support the modern era as well. It is probed once, on demand. */
  #modernHandshake(): Promise<HandshakeResult | null | undefined> {
    const { transport, handshake } = this.#open()
    this.#modern ??=
      handshake.era === 'modern' || transport.kind !== 'stdio'
        ? Promise.resolve(handshake.era === 'modern' ? handshake : null)
        : discover(transport.peer, this.#options.version, PROBE_MS).catch((error: unknown) =>
            error instanceof CallFailure && error.reason !== 'remote' ? undefined : null,
          )
    return this.#modern
  }

  #transportEvents(): TransportEvents {
    const { onLogText, onNotification, onDependency, onSeveralClients, ask, onReset, onLost } = this.#options
    return {
      ask,
      onClientRequest: onDependency,
      onSeveralClients,
      onNotification: routeNotification({
        onToolsChanged: () => this.#tools.changed(),
        onLogText,
        onOther: (method, params, clientId) => {
          this.#promptsAndResources.onNotification(method)
          if (method === MESSAGE && clientId !== undefined && this.handshake?.era === 'legacy')
            onDependency?.('logging')
          onNotification?.(method, params, clientId)
        },
      }),
      onReset: () => {
        this.#mayHaveChanged()
        onReset?.()
      },
      onLost: (reason) => {
        if (!this.#session) return // the transport is not chosen yet; `open` reports the failure
        this.#stopWatching()
        onLost?.(reason)
      },
    }
  }

  /** Fetches the other lists in the background, and subscribes to changes. */
  #watchChanges({ transport, requester, handshake: { era, capabilities } }: Session): void {
    if (this.#options.onList) this.#promptsAndResources.begin(capabilities)
    if (era === 'legacy' && sendsNotifications(capabilities)) void transport.listen?.()
    const announced = era === 'modern' ? announcedChanges(capabilities) : undefined
    if (announced) this.#changes = new ChangeSubscription(requester, () => this.#mayHaveChanged(), announced)
  }

  #mayHaveChanged(): void {
    if (this.handshake?.capabilities.tools) this.#tools.changed()
    this.#promptsAndResources.changed()
  }

  #stopWatching(): void {
    this.#tools.close()
    this.#promptsAndResources.close()
    this.#changes?.close()
    this.#session?.translator?.close()
  }

  #onTools(list: ToolList): void {
    const { transport, handshake } = this.#open()
    transport.onTools?.(list)
    this.#options.onTools(list, handshake, transport.kind)
    if (!this.#isUnlisted) return
    this.#isUnlisted = false
    this.#promptsAndResources.changed() // before the tools are known, the other lists are not kept
  }

  #open(): Session {
    if (!this.#session || this.#closing !== undefined) throw notOpen()
    return this.#session
  }
}

/** The server is connected, but its answer to tools/list is an error, comes too late or cannot be read. */
function isListFailure(error: unknown): error is CallFailure {
  return error instanceof CallFailure && UNLISTED.includes(error.reason)
}
const UNLISTED: readonly FailureReason[] = ['remote', 'timeout', 'too_large']

const notOpen = (): CallFailure => new CallFailure('closed', 'The connection is not open')

/** Whether a legacy server may send notifications at all. If not, no stream is opened for them. */
function sendsNotifications({
  tools,
  prompts,
  resources,
  logging,
}: HandshakeResult['capabilities']): boolean {
  const changes = [tools, prompts, resources].some((each) => isObject(each) && each.listChanged === true)
  return changes || isObject(logging) || (isObject(resources) && resources.subscribe === true)
}

interface Routes {
  readonly onToolsChanged: () => void
  /** The text of a log notification. */
  readonly onLogText?: ((text: string) => void) | undefined
  /** Every notification that is of interest beyond this connection. */
  readonly onOther: PeerEvents['onNotification']
}

/** These concern requests of this connection only. */
const INTERNAL = [
  'notifications/cancelled',
  'notifications/progress',
  'notifications/subscriptions/acknowledged',
]

function routeNotification({ onToolsChanged, onLogText, onOther }: Routes): PeerEvents['onNotification'] {
  return (method, params, clientId) => {
    if (method === 'notifications/message') onLogText?.(logNotificationText(params))
    if (method === 'notifications/tools/list_changed') onToolsChanged()
    else if (!INTERNAL.includes(method)) onOther(method, params, clientId)
  }
}

/** A log notification as a log line: `[warning] db: connection lost`. */
function logNotificationText(params: unknown): string {
  const { level, logger, data } = isObject(params) ? params : {}
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
  const source = typeof logger === 'string' ? `${logger.slice(0, 100)}: ` : ''
  const severity = typeof level === 'string' ? `[${level.slice(0, 20)}] ` : ''
  return `${severity}${source}${text}`.slice(0, LOG_LINE_MAX_BYTES)
}
