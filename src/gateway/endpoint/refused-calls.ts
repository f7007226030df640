import { isObject } from '../../kernel/json/json-checks.ts'
import { idIn } from '../../kernel/rest-parts.ts'
import type { CallOptions } from '../../mcp/protocol/call-options.ts'
import { memberOf, plainOf } from '../../mcp/protocol/raw-json.ts'
import { type CallRecorder, codeOf } from '../../servers/shared/call-recorder.ts'
import { settingOf } from '../../servers/shared/tool-settings.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import { serverIn } from '../catalogue/tool-names.ts'
import { CALL_TOOL } from '../catalogue/tool-search-index.ts'
import { type Incoming, rawParam } from '../messages/incoming-message.ts'
import { RpcError } from '../messages/rpc-error.ts'
import type { AgentScope } from '../sessions/sessions.ts'

interface Deps {
  readonly upstreams: Upstreams
  readonly calls: Pick<CallRecorder, 'refuse'>
}

interface RefusedBy extends AgentScope {
  readonly requestId: string
  readonly session: { readonly id: string } | undefined
  readonly options?: Pick<CallOptions, 'signal'>
}

/** Records agents' calls that reach no server. It says more than the error, which hides what an agent may not use. */
export function createRefusedCalls({ upstreams, calls }: Deps) {
  const ids = () => upstreams.all().map(({ id }) => id)

  function whyUnknown(server_id: string, tool: string): string {
    const upstream = upstreams.get(server_id)
    if (!upstream) return 'unknown_server'
    const { status, settings, catalogue } = upstream
    if (status === 'disabled') return 'server_disabled'
    const aliased = Object.entries(settings.tools).find(([, { alias }]) => alias === tool)?.[0] ?? tool
    if (!catalogue?.tools.some(({ name }) => name === aliased)) return 'unknown_tool'
    return settingOf(settings, aliased).enabled ? 'tool_hidden' : 'tool_disabled'
  }

  return (message: Incoming, refused: RefusedBy, error: unknown): void => {
    if (message.method !== 'tools/call') return
    const { serverId, agentType, requestId, session, options } = refused
    const { name, arguments: given } = message.params
    const wanted = String(name === CALL_TOOL ? (plainOf(memberOf(given, 'name')) ?? name) : name)
    const owner = serverId === undefined ? serverIn(wanted, ids()) : { id: serverId, tool: wanted }
    const by = { request_id: requestId, agent_type: agentType, session_id: session?.id }
    const tool = owner?.tool ?? wanted
    const server_id = owner ? idIn(owner.id) : null
    const unknown = owner ? whyUnknown(owner.id, tool) : 'unknown_tool'
    const call = { server_id, tool, by, args: rawParam(message, 'arguments') }
    const code = unknown === 'server_disabled' ? unknown : (codeIn(error) ?? unknown)
    if (options?.signal?.aborted) calls.refuse(call, 'cancelled', 'The request was cancelled')
    else calls.refuse(call, code, error instanceof Error ? error.message : String(error))
  }
}
export type RefusedCalls = ReturnType<typeof createRefusedCalls>

/** The code of an error that names its cause itself. */
function codeIn(error: unknown): string | undefined {
  if (!(error instanceof RpcError)) return 'internal_error'
  if (error.cause !== undefined) return codeOf(error.cause)
  const { code } = isObject(error.data) ? error.data : {}
  if (code === 'not_found') return undefined
  if (typeof code === 'string') return code
  return error.status >= 400 ? 'invalid_request' : undefined
}
