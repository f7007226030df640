import { isObject } from '../../kernel/is-object.ts'
import { within } from '../../kernel/within.ts'
import type { OnServerRequest } from '../../protocol/call.ts'
import { CallFailure, type CallResult, type TimedCallOptions } from '../../protocol/call.ts'
import type { Asker } from './modern-requests.ts'
import { isForAgents, ownAnswer } from './server-requests.ts'

const MAX_ROUNDS = 10
const WORD = 'input_required'

/**
 * A result of a server of the modern era, for a caller of the legacy one. Such a server does not ask in between: it answers
 * with its questions, and wants the request again with what was said to them.
 */
export async function requestComplete(
  asker: Asker,
  method: string,
  params: unknown,
  options: TimedCallOptions,
): Promise<CallResult> {
  const deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY)
  let asked = params
  for (let round = 0; round <= MAX_ROUNDS; round += 1) {
    const timeoutMs = Math.max(1, deadline - performance.now())
    const result = await asker.requestRaw(method, asked, { ...options, timeoutMs })
    // Large results are read only when somebody looks into them, and nearly none has questions.
    if (!result.json.includes(WORD) || !isObject(result.value) || result.value.resultType !== WORD)
      return result
    const { inputRequests, requestState } = result.value
    const answers = isObject(inputRequests) ? await answersTo(inputRequests, method, options, deadline) : {}
    asked = {
      ...(isObject(params) ? params : {}),
      ...(isObject(inputRequests) && { inputResponses: answers }),
      ...(requestState !== undefined && { requestState }),
    }
  }
  throw new CallFailure('remote', `${method} was not complete after ${MAX_ROUNDS} rounds of questions`)
}

/** One after the other, in the order in which they stand: a person answers them. */
async function answersTo(
  questions: Record<string, unknown>,
  method: string,
  { onServerRequest, signal }: TimedCallOptions,
  deadline: number,
): Promise<Record<string, unknown>> {
  const answers: [string, unknown][] = []
  for (const [key, question] of Object.entries(questions)) {
    const { method: about, params } = isObject(question) ? question : {}
    const answer = answerTo(String(about).slice(0, 100), params, method, onServerRequest)
    const given = await within(answer, Math.max(1, deadline - performance.now()), signal)
    if (signal?.aborted) throw new CallFailure('cancelled', `${method} was cancelled`)
    if (given === 'late') throw new CallFailure('timeout', `${about} was not answered in time`)
    answers.push([key, given])
  }
  return Object.fromEntries(answers)
}

async function answerTo(
  about: string,
  params: unknown,
  method: string,
  onServerRequest: OnServerRequest | undefined,
) {
  const own = ownAnswer(about)
  if (own) return own
  if (!isForAgents(about)) throw new CallFailure('remote', `${method} needs ${about}, which is not supported`)
  if (!onServerRequest)
    throw new CallFailure('remote', `${method} needs ${about} of its caller, who cannot be asked here`)
  return onServerRequest(about, params).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String((error as { message?: unknown })?.message)
    throw new CallFailure('remote', `${about}, which ${method} needs, was refused: ${why.slice(0, 300)}`)
  })
}
