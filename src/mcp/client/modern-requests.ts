import { isObject } from '../../kernel/json/json-checks.ts'
import { memo } from '../../kernel/memo.ts'
import { within } from '../../kernel/time-limit.ts'
import { CallFailure } from '../protocol/call-failure.ts'
import type { ModernParams, OnServerRequest, Params, TimedCallOptions } from '../protocol/call-options.ts'
import { type CallResult, metaOf } from '../protocol/json-rpc-message.ts'
import { CODES, META, MODERN_VERSION, SHOWS_PAGES, uiIn } from '../protocol/mcp-constants.ts'
import { memberOf, plainOf, withMembers, withMeta } from '../protocol/raw-json.ts'
import type { Requester } from './json-rpc-peer.ts'
import { CLIENT_CAPABILITIES, neededCapability } from './server-requests.ts'

/** Adds the `_meta` that the modern era requires to every request. Keys that the caller has set stay. */
export function modernRequester(peer: Requester, version: string): Requester {
  const own = {
    [META.protocolVersion]: MODERN_VERSION,
    [META.clientCapabilities]: { extensions: SHOWS_PAGES },
    [META.clientInfo]: { name: 'toolroom', version },
  }
  const asModern = (params: unknown, { capabilities }: TimedCallOptions) => {
    const declared = capabilities && { [META.clientCapabilities]: forwardedCapabilities(capabilities) }
    const given = metaOf(plainOf(params))
    const missing = Object.entries({ ...own, ...declared }).filter(([name]) => !Object.hasOwn(given, name))
    return withMeta(params, Object.fromEntries(missing))
  }
  return {
    request: (method, params, options) => peer.request(method, asModern(params, options), options),
    requestRaw: (method, params, options) => peer.requestRaw(method, asModern(params, options), options),
  }
}

/** The part of a caller's capabilities that a server may use through Toolroom. */
const forwardedCapabilities = memo((capabilities: Params): object => {
  const { extensions: _, ...others } = capabilities
  const extensions = uiIn(capabilities)
  const kept = Object.entries(others).filter(([name]) => Object.hasOwn(CLIENT_CAPABILITIES, name))
  return { ...Object.fromEntries(kept), ...(extensions && { extensions }) }
})

const MAX_ROUNDS = 10
/** What all answers to one call may take together. An agent has a shorter limit for each of them. */
const MAX_INPUT_MS = 3_600_000
const INPUT_REQUIRED = 'input_required'

/**
 * A complete result of a modern server for a legacy caller. A modern server does not send requests while it works: it
 * answers `input_required` with its requests, and expects our request again together with the responses. As for a legacy
 * server, the time that the caller takes for an answer does not count: then the server is not the slow side.
 */
export async function requestComplete(
  requester: Requester,
  method: string,
  params: unknown,
  options: TimedCallOptions,
  maxInputMs = MAX_INPUT_MS,
): Promise<CallResult> {
  let deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY)
  const inputEndsAt = performance.now() + maxInputMs
  let next = params
  for (let round = 0; round <= MAX_ROUNDS; round += 1) {
    const timeoutMs = Math.max(1, deadline - performance.now())
    const result = await requester.requestRaw(method, next, { ...options, timeoutMs })
    // The search in the bytes avoids parsing large results.
    if (!result.includes(INPUT_REQUIRED)) return result
    if (plainOf(memberOf(result.raw, 'resultType')) !== INPUT_REQUIRED || !isObject(result.value))
      return result
    const { inputRequests, requestState } = result.value
    const requiredAt = performance.now()
    const inputResponses = isObject(inputRequests)
      ? await respondTo(inputRequests, method, options, inputEndsAt)
      : undefined
    deadline += performance.now() - requiredAt
    next = withMembers(params, {
      ...(inputResponses !== undefined && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    })
  }
  throw new CallFailure('remote', `${method} still required input after ${MAX_ROUNDS} rounds`)
}

/** Sequentially, in the order of the server, because a person may have to answer them. */
async function respondTo(
  inputRequests: Record<string, unknown>,
  method: string,
  { onServerRequest, signal }: TimedCallOptions,
  endsAt: number,
): Promise<unknown> {
  const responses: [string, unknown][] = []
  for (const [key, request] of Object.entries(inputRequests)) {
    const { method: required, params } = isObject(request) ? request : {}
    const response = respond(String(required).slice(0, 100), params, method, onServerRequest)
    const given = await within(response, Math.max(1, endsAt - performance.now()), signal)
    if (signal?.aborted) throw new CallFailure('cancelled', `${method} was cancelled`)
    if (given === 'late') throw new CallFailure('timeout', `${required} was not answered in time`)
    responses.push([key, given])
  }
  return withMembers(undefined, Object.fromEntries(responses))
}

async function respond(
  required: string,
  params: unknown,
  method: string,
  onServerRequest: OnServerRequest | undefined,
): Promise<unknown> {
  if (neededCapability(required) === undefined)
    throw new CallFailure('remote', `${method} requires ${required}, which is not supported`)
  if (!onServerRequest)
    throw new CallFailure('remote', `${method} requires ${required}, which the client does not support`)
  return onServerRequest(required, params).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String((error as { message?: unknown })?.message)
    throw new CallFailure('remote', `${method} requires ${required}, which was refused: ${why.slice(0, 300)}`)
  })
}

/**
 * Rejects a `requestState` for a legacy server. Such a server never issued one, so the request continues a call that has
 * ended, and repeating that call could have its effects twice.
 */
export function refuseUnknownState({ requestState }: ModernParams): void {
  if (requestState === undefined) return
  const message = 'This requestState is unknown or has expired. Send the call again without it'
  throw new CallFailure('remote', message, { code: CODES.params, message })
}
