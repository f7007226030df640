import type { CallResult } from '../kernel/calling.ts'
import { AppError } from '../kernel/errors.ts'
import { completed, LEGACY, MODERN } from './modern.ts'
import { type Offering, Offers } from './offers.ts'
import { CODES, type Incoming, isObject, RpcError } from './rpc.ts'

export interface GatewayDeps {
  readonly version: string
  readonly offered: () => readonly Offering[]
  readonly call: (
    serverId: string,
    asked: {
      readonly tool: string
      readonly args: unknown
      readonly signal: AbortSignal
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
}

const CAPABILITIES = { tools: { listChanged: true } }
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** What every agent can ask, whichever era it speaks. Answers are bytes, ready to be sent. */
export function createGateway({ version, offered, call }: GatewayDeps) {
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
    try {
      const result = await call(found.server_id, {
        tool: found.tool,
        args,
        signal,
        by: { request_id, agent_type },
      })
      return asking.era === 'modern' ? completed(result.json, result.value) : result.json
    } catch (error) {
      throw asRpcError(error)
    }
  }

  return {
    changed: () => offers.changed(),
    refused: () => offers.of(undefined)?.refused ?? [],
    hasServer: (serverId: string | undefined) => offers.of(serverId) !== undefined,

    /** The greeting of the old days. */
    initialize({ params }: Incoming): { version: string; result: string } {
      const asked = params.protocolVersion
      const spoken = LEGACY.find((known) => known === asked) ?? LEGACY[0]
      const result = { protocolVersion: spoken, capabilities: CAPABILITIES, serverInfo }
      return { version: spoken, result: JSON.stringify(result) }
    },

    async answer(message: Incoming, asking: Asking): Promise<Buffer> {
      switch (message.method) {
        case 'tools/list': {
          if (message.params.cursor !== undefined) throw new RpcError(CODES.params, 'There is no such page')
          return Buffer.from(offerFor(asking.serverId).list[asking.era])
        }
        case 'tools/call':
          return callTool(message, asking)
        case 'ping':
          if (asking.era === 'legacy') return Buffer.from('{}')
          break
        case 'server/discover':
          if (asking.era === 'modern') return Buffer.from(JSON.stringify(discovered(serverInfo)))
          break
      }
      const status = asking.era === 'modern' ? 404 : 200
      throw new RpcError(CODES.method, `${String(message.method).slice(0, 100)} is not known here`, {
        status,
      })
    },
  }
}
export type Gateway = ReturnType<typeof createGateway>

const discovered = (serverInfo: object) => ({
  resultType: 'complete',
  supportedVersions: [MODERN, ...LEGACY],
  capabilities: CAPABILITIES,
  ttlMs: 3_600_000,
  cacheScope: 'private',
  _meta: { [SERVER_INFO]: serverInfo },
})

/** What the server itself said goes back as it said it; what we have to say carries our own code. */
function asRpcError(error: unknown): RpcError {
  if (!(error instanceof AppError))
    return new RpcError(CODES.internal, 'The call failed for an unexpected reason')
  const remote = (error.cause as { remote?: unknown } | undefined)?.remote
  if (isObject(remote) && typeof remote.code === 'number')
    return new RpcError(remote.code, String(remote.message), { data: remote.data })
  const data = { code: error.code, ...(error.hint !== undefined && { hint: error.hint }) }
  return new RpcError(CODES.internal, error.message, { data })
}
