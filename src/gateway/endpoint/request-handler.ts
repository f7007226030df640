import type { CancelSignal } from '../../kernel/cancel.ts'
import { AppError } from '../../kernel/errors.ts'
import { isObject } from '../../kernel/is-object.ts'
import type { CallResult } from '../../protocol/call.ts'
import { CallFailure } from '../../protocol/call.ts'
import type { AskedRelay } from '../../upstreams/calls.ts'
import type { Catalogue } from '../../upstreams/catalogues.ts'
import { createCollection } from '../catalogue/aggregate.ts'
import type { Offer, Offers } from '../catalogue/offers.ts'
import { meantBy } from '../catalogue/tool-search-calls.ts'
import type { Session } from '../sessions/sessions.ts'
import { CODES, type Incoming, RpcError } from './json-rpc.ts'
import { completed, LEGACY, MODERN, metaOf, withoutEra } from './modern-requests.ts'
import { rawArgumentsIn } from './raw-arguments.ts'

export interface GatewayDeps {
  readonly version: string
  /** Which tools each agent sees. */
  readonly offers: Offers
  /** What a server said of itself when it last ran. */
  readonly catalogueOf: (serverId: string) => Catalogue | undefined
  /** Somebody lists what these offer; waits for those that were never seen, where there are any. */
  readonly meet: (serverIds: readonly string[]) => Promise<unknown> | undefined
  /** Whether it can be told something without being woken for it. */
  readonly isAwake: (serverId: string) => boolean
  readonly relay: (serverId: string, asked: AskedRelay) => Promise<CallResult>
  readonly call: (
    serverId: string,
    asked: {
      readonly tool: string
      readonly args: unknown
      readonly rawArguments?: Buffer | undefined
      readonly signal: CancelSignal
      readonly meta?: Readonly<Record<string, unknown>> | undefined
      readonly onProgress?: ((params: Readonly<Record<string, unknown>>) => void) | undefined
      readonly modernParams?: Readonly<Record<string, unknown>> | undefined
      readonly onServerRequest?: ((method: string, params: unknown) => Promise<unknown>) | undefined
      readonly capabilities?: object | undefined
      readonly by: { readonly request_id: string; readonly agent_type: string }
      readonly waits: true
    },
  ) => Promise<CallResult>
}

/** Who asks, and how. */
export interface Asking {
  readonly serverId: string | undefined
  readonly era: 'legacy' | 'modern'
  readonly agentType: string
  readonly requestId: string
  readonly signal: CancelSignal
  /** Tells the agent something before the answer. */
  readonly tell: (method: string, params: object) => void
  /** Where it hears what comes after the answer; undefined where nothing can come. */
  readonly session: Session | undefined
  /** Asks the agent something before the answer; undefined where it cannot be asked. */
  readonly ask: ((method: string, params: unknown) => Promise<unknown>) | undefined
}

const CAPABILITIES = { tools: { listChanged: true } }
/** Handed on to the one server that is meant, and its answer handed back. */
const RELAYED = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'
const WISH_MS = 60_000
const TTL_MS = 60_000

/** What every agent can ask, whichever era it speaks. Answers are bytes, ready to be sent. */
export function createGateway({ version, offers, catalogueOf, meet, isAwake, relay, call }: GatewayDeps) {
  const collection = createCollection<Asking>({
    catalogueOf,
    isAwake,
    visibleServers: (agentType) => offers.of(undefined, agentType)?.servers ?? [],
    handOn: (message, serverId, asking) => relayed(message, serverId, asking),
    ask: (serverId, method, params) =>
      relay(serverId, { method, params, signal: AbortSignal.timeout(WISH_MS) }).catch((error: unknown) => {
        throw asRpcError(error, 'legacy')
      }),
  })
  const serverInfo = { name: 'toolroom', title: 'Toolroom', version }

  const offerFor = ({ serverId, agentType }: Asking): Offer => {
    const offer = offers.of(serverId, agentType)
    if (!offer) throw new RpcError(CODES.request, 'There is no such server', { status: 404 })
    return offer
  }

  async function callTool({ params, body }: Incoming, asking: Asking): Promise<Buffer> {
    const { name, arguments: given = {} } = params
    if (!isObject(given)) throw new RpcError(CODES.params, 'arguments must be an object')
    const meant = meantBy(offerFor(asking), name, given)
    if (!meant) throw new RpcError(CODES.params, `Unknown tool: ${String(name).slice(0, 100)}`)
    if (meant.kind === 'said') return said(meant.result, asking.era)
    const { found, args } = meant
    const inner = args === given ? {} : { arguments: args }
    const { agentType: agent_type, requestId: request_id, signal } = asking
    const { progressToken, meta } = alongWith(params)
    const onProgress = progressTo(asking, progressToken)
    const listening = collection.listenTo(found.server_id, params, asking)
    const stop = listening && (await listening)
    try {
      const result = await call(found.server_id, {
        tool: found.tool,
        args,
        rawArguments: args === params.arguments ? rawArgumentsIn(body) : undefined,
        signal,
        meta,
        onProgress,
        onServerRequest: asking.ask,
        capabilities: asking.session?.capabilities,
        modernParams: asking.era === 'modern' ? { ...params, name: found.tool, ...inner } : undefined,
        by: { request_id, agent_type },
        waits: true,
      })
      const told = collection.remember(found.server_id, result, asking)
      return asking.era === 'modern' ? completed(told, 'tools/call') : told.json
    } catch (error) {
      throw asRpcError(error, asking.era)
    } finally {
      stop?.()
    }
  }

  /** Of one server what it can do itself, as far as it goes through here. */
  function capabilities({
    serverId,
    agentType,
    era,
  }: Pick<Asking, 'serverId' | 'agentType' | 'era'>): object {
    if (serverId === undefined) return collection.capabilities(agentType, era)
    const { resources, prompts, completions, logging } = catalogueOf(serverId)?.capabilities ?? {}
    const isLegacy = era === 'legacy'
    return {
      ...CAPABILITIES,
      ...(resources !== undefined && { resources }),
      ...(prompts !== undefined && { prompts: listChangedOf(prompts) }),
      ...(completions !== undefined && { completions: {} }),
      ...(logging !== undefined && isLegacy && { logging: {} }),
    }
  }

  async function handOn(message: Incoming, serverId: string, asking: Asking): Promise<Buffer> {
    const stop = await collection.listenTo(serverId, message.params, asking)
    try {
      const result = await relayed(message, serverId, asking)
      return asking.era === 'modern' ? completed(result, message.method ?? '') : result.json
    } finally {
      stop?.()
    }
  }

  async function relayed(
    { method = '', params }: Incoming,
    serverId: string,
    asking: Asking,
  ): Promise<CallResult> {
    try {
      const asked = {
        method,
        params: withoutEra(params),
        signal: asking.signal,
        onProgress: progressTo(asking, metaOf(params).progressToken),
        onServerRequest: asking.ask,
        capabilities: asking.session?.capabilities,
        modernParams: asking.era === 'modern' ? params : undefined,
        waits: true as const,
      }
      return await relay(serverId, asked)
    } catch (error) {
      throw asRpcError(error, asking.era)
    }
  }

  const discovered = (asking: Asking) => ({
    resultType: 'complete',
    supportedVersions: [MODERN, ...LEGACY],
    capabilities: capabilities(asking),
    instructions: collection.instructions(asking.serverId, asking.agentType),
    ttlMs: asking.serverId === undefined ? TTL_MS : 3_600_000, // what all can do changes with who is there
    cacheScope: 'private',
    _meta: { [SERVER_INFO]: serverInfo },
  })

  async function answerOther(message: Incoming, asking: Asking): Promise<Buffer> {
    const { method, params } = message
    const isModern = asking.era === 'modern'
    if (method === 'tools/list') {
      if (params.cursor !== undefined) throw new RpcError(CODES.params, 'There is no such page')
      await meet(offerFor(asking).servers)
      return Buffer.from(offerFor(asking).list[asking.era])
    }
    if (method === 'ping' && !isModern) return Buffer.from('{}')
    if (method === 'server/discover' && isModern) return Buffer.from(JSON.stringify(discovered(asking)))
    const answered = collection.answer(message, asking)
    if (answered) return answered
    if (asking.serverId !== undefined && RELAYED.includes(method ?? ''))
      return handOn(message, asking.serverId, asking)
    const status = isModern ? 404 : 200
    throw new RpcError(CODES.method, `${String(method).slice(0, 100)} is not known here`, { status })
  }

  return {
    collection,
    changed: () => offers.changed(),
    refused: () => offers.refused,
    hasServer: (serverId: string | undefined, agentType: string) =>
      offers.of(serverId, agentType) !== undefined,

    /** The greeting of the old days. */
    initialize(
      { params }: Incoming,
      { serverId, agentType }: Pick<Asking, 'serverId' | 'agentType'>,
    ): { version: string; result: string } {
      const asked = params.protocolVersion
      const spoken = LEGACY.find((known) => known === asked) ?? LEGACY[0]
      const can = capabilities({ serverId, agentType, era: 'legacy' })
      const instructions = collection.instructions(serverId, agentType)
      const result = { protocolVersion: spoken, capabilities: can, serverInfo, instructions }
      return { version: spoken, result: JSON.stringify(result) }
    },

    answer: (message: Incoming, asking: Asking): Promise<Buffer> =>
      message.method === 'tools/call' ? callTool(message, asking) : answerOther(message, asking),
  }
}
export type Gateway = ReturnType<typeof createGateway>

/** Our own words as the result of a call. */
function said(result: object, era: Asking['era']): Buffer {
  const json = Buffer.from(JSON.stringify(result))
  return era === 'modern' ? completed({ json, value: result }, 'tools/call') : json
}

/** What of the caller's `_meta` concerns the server. */
function alongWith(params: Incoming['params']) {
  if (params._meta === undefined) return {}
  const { progressToken, ...meta } = metaOf(withoutEra(params))
  return { progressToken, meta: Object.keys(meta).length > 0 ? meta : undefined }
}

/** The agent's own token goes back with each, and 0 is one. Nobody is asked for what nobody wants to hear. */
function progressTo({ tell }: Asking, progressToken: unknown): ((progress: object) => void) | undefined {
  if (progressToken === undefined) return undefined
  return (progress) => tell('notifications/progress', { ...progress, progressToken })
}

/** What the server itself said goes back as it said it; what we have to say carries our own code. */
function asRpcError(error: unknown, era: Asking['era']): RpcError {
  const remote = remoteOf(error) ?? remoteOf((error as Error | undefined)?.cause)
  if (isObject(remote) && typeof remote.code === 'number')
    return new RpcError(remote.code, String(remote.message), {
      data: remote.data,
      status: (era === 'modern' && STATUS[remote.code]) || 200,
    })
  if (!(error instanceof AppError)) {
    const said = error instanceof CallFailure ? error.message : 'The server did not answer'
    return new RpcError(CODES.internal, said)
  }
  const data = { code: error.code, ...(error.hint !== undefined && { hint: error.hint }) }
  return new RpcError(CODES.internal, error.message, { data })
}

const remoteOf = (error: unknown): unknown => (error as { remote?: unknown } | undefined)?.remote

/** What the modern era says twice, in HTTP and in JSON-RPC. */
const STATUS: Readonly<Record<number, number>> = {
  [-32_601]: 404,
  [-32_020]: 400,
  [-32_021]: 400,
  [-32_022]: 400,
}

const listChangedOf = (capability: unknown): object =>
  isObject(capability) && capability.listChanged === true ? { listChanged: true } : {}
