import type { AskedRelay, CallResult } from '../kernel/calling.ts'
import { AppError } from '../kernel/errors.ts'
import { completed, LEGACY, MODERN, metaOf, withoutEra } from './modern.ts'
import { type Offering, Offers } from './offers.ts'
import { CODES, type Incoming, isObject, RpcError } from './rpc.ts'

export interface GatewayDeps {
  readonly version: string
  readonly offered: () => readonly Offering[]
  /** What a server can do, as it said itself. */
  readonly capabilitiesOf: (serverId: string) => Readonly<Record<string, unknown>>
  readonly relay: (serverId: string, asked: AskedRelay) => Promise<CallResult>
  readonly call: (
    serverId: string,
    asked: {
      readonly tool: string
      readonly args: unknown
      readonly signal: AbortSignal
      readonly meta?: Readonly<Record<string, unknown>> | undefined
      readonly onProgress?: ((params: Readonly<Record<string, unknown>>) => void) | undefined
      readonly modern?: Readonly<Record<string, unknown>> | undefined
      readonly onAsked?: ((method: string, params: unknown) => Promise<unknown>) | undefined
      readonly by: { readonly request_id: string; readonly agent_type: string }
    },
  ) => Promise<CallResult>
}

/** Who asks, and how. */
export interface Asking {
  readonly serverId: string | undefined
  readonly era: 'legacy' | 'modern'
  readonly agentType: string
  readonly requestId: string
  readonly signal: AbortSignal
  /** Tells the agent something before the answer. */
  readonly tell: (method: string, params: object) => void
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
/** Only the old revisions have these; there a session hears what comes of it. */
const LEGACY_RELAYED = ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** What every agent can ask, whichever era it speaks. Answers are bytes, ready to be sent. */
export function createGateway({ version, offered, capabilitiesOf, relay, call }: GatewayDeps) {
  const offers = new Offers(offered)
  const serverInfo = { name: 'toolroom', title: 'Toolroom', version }

  const offerFor = (serverId: string | undefined) => {
    const offer = offers.of(serverId)
    if (!offer) throw new RpcError(CODES.request, 'There is no such server', { status: 404 })
    return offer
  }

  async function callTool({ params }: Incoming, asking: Asking): Promise<Buffer> {
    const { name, arguments: args = {} } = params
    const found = typeof name === 'string' ? offerFor(asking.serverId).find(name) : undefined
    if (!found) throw new RpcError(CODES.params, `Unknown tool: ${String(name).slice(0, 100)}`)
    if (!isObject(args)) throw new RpcError(CODES.params, 'arguments must be an object')
    const { agentType: agent_type, requestId: request_id, signal } = asking
    const { progressToken, ...meta } = metaOf(withoutEra(params))
    // The agent's own token goes back with each, and 0 is one. Nobody is asked for what nobody wants to hear.
    const onProgress =
      progressToken === undefined
        ? undefined
        : (progress: object) => asking.tell('notifications/progress', { ...progress, progressToken })
    try {
      const result = await call(found.server_id, {
        tool: found.tool,
        args,
        signal,
        meta: Object.keys(meta).length > 0 ? meta : undefined,
        onProgress,
        onAsked: asking.ask,
        modern: asking.era === 'modern' ? { ...params, name: found.tool } : undefined,
        by: { request_id, agent_type },
      })
      return asking.era === 'modern' ? completed(result.json, result.value, 'tools/call') : result.json
    } catch (error) {
      throw asRpcError(error, asking.era)
    }
  }

  /** Of all servers only the tools; of one also what can be handed on. What it says unasked, only sessions hear. */
  function capabilities(serverId: string | undefined, era: Asking['era']): object {
    if (serverId === undefined) return CAPABILITIES
    const { resources, prompts, completions, logging } = capabilitiesOf(serverId)
    const isLegacy = era === 'legacy'
    return {
      ...CAPABILITIES,
      ...(resources !== undefined && { resources: isLegacy ? resources : listChangedOf(resources) }),
      ...(prompts !== undefined && { prompts: listChangedOf(prompts) }),
      ...(completions !== undefined && { completions: {} }),
      ...(logging !== undefined && isLegacy && { logging: {} }),
    }
  }

  async function handOn(
    { method = '', params }: Incoming,
    serverId: string,
    asking: Asking,
  ): Promise<Buffer> {
    try {
      const asked = {
        method,
        params: withoutEra(params),
        signal: asking.signal,
        onAsked: asking.ask,
        modern: asking.era === 'modern' ? params : undefined,
      }
      const { json, value } = await relay(serverId, asked)
      return asking.era === 'modern' ? completed(json, value, method) : json
    } catch (error) {
      throw asRpcError(error, asking.era)
    }
  }

  return {
    changed: () => offers.changed(),
    refused: () => offers.of(undefined)?.refused ?? [],
    hasServer: (serverId: string | undefined) => offers.of(serverId) !== undefined,

    /** The greeting of the old days. */
    initialize({ params }: Incoming, serverId: string | undefined): { version: string; result: string } {
      const asked = params.protocolVersion
      const spoken = LEGACY.find((known) => known === asked) ?? LEGACY[0]
      const result = { protocolVersion: spoken, capabilities: capabilities(serverId, 'legacy'), serverInfo }
      return { version: spoken, result: JSON.stringify(result) }
    },

    async answer(message: Incoming, asking: Asking): Promise<Buffer> {
      const { method, params } = message
      const isModern = asking.era === 'modern'
      if (method === 'tools/call') return callTool(message, asking)
      if (method === 'tools/list') {
        if (params.cursor !== undefined) throw new RpcError(CODES.params, 'There is no such page')
        return Buffer.from(offerFor(asking.serverId).list[asking.era])
      }
      if (method === 'ping' && !isModern) return Buffer.from('{}')
      if (method === 'server/discover' && isModern)
        return Buffer.from(JSON.stringify(discovered(serverInfo, capabilities(asking.serverId, 'modern'))))
      const relayed = isModern ? RELAYED : [...RELAYED, ...LEGACY_RELAYED]
      if (asking.serverId !== undefined && relayed.includes(method ?? ''))
        return handOn(message, asking.serverId, asking)
      const status = isModern ? 404 : 200
      throw new RpcError(CODES.method, `${String(method).slice(0, 100)} is not known here`, {
        status,
      })
    },
  }
}
export type Gateway = ReturnType<typeof createGateway>

const discovered = (serverInfo: object, capabilities: object) => ({
  resultType: 'complete',
  supportedVersions: [MODERN, ...LEGACY],
  capabilities,
  ttlMs: 3_600_000,
  cacheScope: 'private',
  _meta: { [SERVER_INFO]: serverInfo },
})

/** What the server itself said goes back as it said it; what we have to say carries our own code. */
function asRpcError(error: unknown, era: Asking['era']): RpcError {
  const remote = remoteOf(error) ?? remoteOf((error as Error | undefined)?.cause)
  if (isObject(remote) && typeof remote.code === 'number')
    return new RpcError(remote.code, String(remote.message), {
      data: remote.data,
      status: (era === 'modern' && STATUS[remote.code]) || 200,
    })
  if (!(error instanceof AppError)) return new RpcError(CODES.internal, 'The server did not answer')
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
