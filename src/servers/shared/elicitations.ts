import { randomBytes } from 'node:crypto'
import * as Type from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import { component, mapOf } from '../../kernel/rest-parts.ts'
import { closed, text } from '../../kernel/schema-fields.ts'

/** How long a question waits for an answer, because a person may have to give it. */
const ANSWER_MS = 5 * 60_000

/** A question that was sent to a client of the API. */
interface Asked {
  readonly id: string
  readonly expires_at: number
  /** Undefined when it was not answered in time. */
  readonly answer: Promise<ElicitationAnswer | undefined>
  /** Gives up waiting: the call has ended. */
  readonly end: () => void
}

/** Questions that servers ask during streamed calls, until they are answered. */
export class Elicitations {
  readonly #pending = new Map<string, (answer: ElicitationAnswer | undefined) => void>()
  readonly #answerMs: number

  constructor(answerMs = ANSWER_MS) {
    this.#answerMs = answerMs
  }

  ask(): Asked {
    const id = `eli_${randomBytes(12).toString('hex')}`
    let settle: (answer: ElicitationAnswer | undefined) => void = () => {}
    const answer = new Promise<ElicitationAnswer | undefined>((resolve) => {
      settle = (given) => {
        clearTimeout(timer)
        this.#pending.delete(id)
        resolve(given)
      }
    })
    const timer = setTimeout(() => settle(undefined), this.#answerMs)
    this.#pending.set(id, settle)
    return { id, expires_at: Date.now() + this.#answerMs, answer, end: () => settle(undefined) }
  }

  /** Throws when there is no such question, or no longer. */
  answer(id: string, answer: ElicitationAnswer): void {
    const settle = this.#pending.get(id)
    if (!settle)
      throw new AppError('not_found', `No question with the id '${id.slice(0, 100)}' waits for an answer`, {
        hint: 'It was answered already, its time has passed, or its call has ended',
      })
    settle(answer)
  }
}

const Text = Type.String({ maxLength: 65_536 })

export const ElicitationKey = Type.Object({
  id: text('From the event `elicitation`', { examples: ['eli_0123456789abcdef01234567'] }),
})

export const ElicitationAnswer = closed({
  action: Type.Enum(['accept', 'decline', 'cancel'], {
    description: '`decline`: the user said no. `cancel`: the user closed the form without a choice',
  }),
  content: Type.Optional(
    mapOf(
      '^[^\\u0000-\\u001f\\u007f]{1,256}$',
      Type.Union([Text, Type.Number(), Type.Boolean(), Type.Array(Text, { maxItems: 1000 })]),
      1000,
    ),
  ),
})
export type ElicitationAnswer = Type.Static<typeof ElicitationAnswer>
component({ ElicitationAnswer }, 'The answer to a question of a tool server', {
  examples: [{ action: 'accept', content: { name: 'Ada' } }],
})
