import { isObject } from '../../kernel/is-object.ts'
import { CODES, RpcError } from './json-rpc.ts'

const NEEDS: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}

/** A person may have to answer. */
export const ASK_MS = 5 * 60_000

/** Why this agent is not asked that: it has not said that it can answer. */
export function refusalToAsk(
  capabilities: Readonly<Record<string, unknown>>,
  method: string,
  params: unknown,
): RpcError | undefined {
  const needs = Object.hasOwn(NEEDS, method) ? NEEDS[method] : undefined
  const can = needs === undefined ? undefined : capabilities[needs]
  if (can !== undefined && canDo(method, isObject(can) ? can : {}, isObject(params) ? params : {}))
    return undefined
  return new RpcError(CODES.method, `The agent cannot be asked for ${method.slice(0, 100)}`)
}

type Fields = Readonly<Record<string, unknown>>

function canDo(method: string, can: Fields, params: Fields): boolean {
  if (method === 'sampling/createMessage') return params.tools === undefined || can.tools !== undefined
  if (method !== 'elicitation/create') return true
  if (params.mode === 'url') return can.url !== undefined
  return can.form !== undefined || can.url === undefined // forms are what it meant when there was nothing else
}
