import { isObject } from '../../kernel/json/json-checks.ts'
import type { Params } from '../../mcp/protocol/call-options.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { RpcError } from '../messages/rpc-error.ts'
import { type EventStream, messageOf } from './event-stream.ts'

let serverRequests = 0

export const noResponse = (message: string): RpcError => new RpcError(CODES.internal, message)
export const disconnected = (): RpcError => noResponse('The agent has disconnected')

/** What is needed of a session to ask its agent. */
export interface AskedSession {
  readonly capabilities: Params
  /** Requests of servers that wait for the agent's response. */
  readonly serverRequests: Map<string, (response: { result?: unknown; error?: unknown }) => void>
}

/** A server's request that was sent to an agent. */
interface Asked {
  readonly response: Promise<unknown>
  /** Gives up waiting for the response. */
  readonly reject: (error: RpcError) => void
}

/** Sends a server's request to an agent on one of its streams. Throws when the agent cannot answer it. */
export function askSession(
  session: AskedSession,
  stream: EventStream | undefined,
  method: string,
  params: unknown,
): Asked {
  const missing = missingCapability(session.capabilities, method, params)
  if (missing) throw missing
  if (!stream || stream.isLost) throw disconnected()
  if (session.serverRequests.size >= MAX_SERVER_REQUESTS) throw tooManyRequests()
  serverRequests += 1
  const id = `toolroom-${serverRequests}`
  const pending = session.serverRequests
  let reject: Asked['reject'] = () => {}
  const response = new Promise((resolve, onRejected) => {
    const settle = () => {
      clearTimeout(timer)
      pending.delete(id)
    }
    reject = (error) => {
      settle()
      onRejected(error)
    }
    const timer = setTimeout(() => reject(noResponse('The agent did not answer in time')), ANSWER_MS)
    pending.set(id, ({ result, error }) => {
      settle()
      if (result !== undefined) resolve(result)
      else onRejected(isObject(error) ? error : noResponse('The agent sent no result'))
    })
  })
  stream.send(messageOf(method, params as object, id)) // not in the promise, which would keep the params until the response
  return { response, reject }
}

/** Of one agent, or of one call. */
export const MAX_SERVER_REQUESTS = 100
export const tooManyRequests = (): RpcError =>
  noResponse(`The agent has ${MAX_SERVER_REQUESTS} requests of servers to answer, which is the most`)

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
