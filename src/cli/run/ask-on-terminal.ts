import { createInterface } from 'node:readline'
import { Failure, usage } from './failure.ts'

/** Asks a yes-or-no question on the terminal. Resolves only with a yes. */
export async function confirm(question: string): Promise<void> {
  if (!canAsk()) throw usage('This needs a confirmation, and there is no terminal to ask on', 'Add --yes')
  const answer = await ask(`${question} [y/N] `)
  if (!isYes(answer ?? '')) throw new Failure('failed', 'Nothing was changed', null, 'cancelled')
}

export const canAsk = (): boolean => process.stdin.isTTY && process.stderr.isTTY

export const isYes = (answer: string): boolean => /^y(?:es)?$/i.test(answer.trim())

/** One line from the terminal; undefined after Ctrl-D. The question goes to stderr, because stdout is for the answer. */
export function ask(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise((resolve) => {
    const onEnd = () => {
      process.stderr.write('\n')
      resolve(undefined)
    }
    lines.question(question, (answer) => {
      lines.off('close', onEnd).close()
      resolve(answer)
    })
    lines.once('close', onEnd)
    lines.once('SIGINT', () => process.exit(130))
  })
}
