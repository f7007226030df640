import { isObject } from '../../kernel/is-object.ts'
import type { Params } from '../../mcp/protocol/call.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { RpcError } from './json-rpc.ts'

const CAPABILITY_OF: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}

/** How long an agent may take to answer a server's request, because a person may have to. */
export const ANSWER_MS = 5 * 60_000

/** The error when an agent has not declared the capability that a server's request needs. */
export function missingCapability(
  capabilities: Params,
  method: string,
  params: unknown,
): RpcError | undefined {
  const name = Object.hasOwn(CAPABILITY_OF, method) ? CAPABILITY_OF[method] : undefined
  const capability = name === undefined ? undefined : capabilities[name]
  if (capability !== undefined && covers(method, objectOr(capability), objectOr(params))) return undefined
  return new RpcError(CODES.method, `The client does not support ${method.slice(0, 100)}`)
}

const objectOr = (value: unknown): Params => (isObject(value) ? value : {})

function covers(method: string, capability: Params, params: Params): boolean {
  if (method === 'sampling/createMessage') return params.tools === undefined || capability.tools !== undefined
  if (method !== 'elicitation/create') return true
  if (params.mode === 'url') return capability.url !== undefined
  return capability.form !== undefined || capability.url === undefined // an empty capability means forms, the only mode of older revisions
}
