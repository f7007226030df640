import { type LastError, RETRY_LATER, type StartOutcome } from '../kernel/server-state.ts'

interface Waiter {
  readonly answer: (outcome: StartOutcome) => void
  /** On the monotonic clock. */
  readonly deadline: number
}

/** Requests that wait for the next start of a server without hastening it. */
export class StartWaiters {
  #waiting: Waiter[] = []

  add(withinMs: number): Promise<StartOutcome> {
    return new Promise((answer) => {
      this.#waiting.push({ answer, deadline: performance.now() + withinMs })
    })
  }

  answer(outcome: StartOutcome): void {
    for (const { answer } of this.#waiting.splice(0)) answer(outcome)
  }

  /** The next attempt begins at `retryAt`, on the monotonic clock. Answers all whose deadline is earlier. */
  answerEarly(retryAt: number, { message, hint, action }: LastError): void {
    const seconds = Math.max(1, Math.round((retryAt - performance.now()) / 1000))
    const sentence = `The next start is in ${seconds} s, after the timeout of this request. ${message}`
    const error = { code: RETRY_LATER, message: sentence, hint, action }
    const early = this.#waiting.filter(({ deadline }) => deadline < retryAt)
    this.#waiting = this.#waiting.filter(({ deadline }) => deadline >= retryAt)
    for (const { answer } of early) answer({ ok: false, error })
  }
}
