import { isObject } from '../kernel/is-object.ts'
import { within } from '../kernel/within.ts'
import { type CallResult, RequestError, type RequestOptions } from './dialogue.ts'
import type { Asker } from './modern.ts'
import { isForAgents, type OnAsked, ownAnswer } from './questions.ts'

interface Options extends RequestOptions {
  readonly timeoutMs: number
}

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
  options: Options,
): Promise<CallResult> {
  const deadline = performance.now() + options.timeoutMs
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
  throw new RequestError('remote', `${method} was not complete after ${MAX_ROUNDS} rounds of questions`)
}

/** One after the other, in the order in which they stand: a person answers them. */
async function answersTo(
  questions: Record<string, unknown>,
  method: string,
  { onAsked, signal }: Options,
  deadline: number,
): Promise<Record<string, unknown>> {
  const answers: [string, unknown][] = []
  for (const [key, question] of Object.entries(questions)) {
    const { method: about, params } = isObject(question) ? question : {}
    const answer = answerTo(String(about).slice(0, 100), params, method, onAsked)
    const given = await within(answer, Math.max(1, deadline - performance.now()), signal)
    if (signal?.aborted) throw new RequestError('cancelled', `${method} was cancelled`)
    if (given === 'late') throw new RequestError('timeout', `${about} was not answered in time`)
    answers.push([key, given])
  }
  return Object.fromEntries(answers)
}

async function answerTo(about: string, params: unknown, method: string, onAsked: OnAsked | undefined) {
  const own = ownAnswer(about)
  if (own) return own
  if (!isForAgents(about))
    throw new RequestError('remote', `${method} needs ${about}, which is not supported`)
  if (!onAsked)
    throw new RequestError('remote', `${method} needs ${about} of its caller, who cannot be asked here`)
  return onAsked(about, params).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String((error as { message?: unknown })?.message)
    throw new RequestError('remote', `${about}, which ${method} needs, was refused: ${why.slice(0, 300)}`)
  })
}
