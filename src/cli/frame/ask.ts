import { createInterface } from 'node:readline'
import { Failure, usage } from './failure.ts'

/** Asks a yes-or-no question on the terminal. Resolves only with a yes. */
export async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw usage('This needs a confirmation, and there is no terminal to ask on', 'Add --yes')
  const answer = await ask(`${question} [y/N] `)
  if (!/^y(?:es)?$/i.test(answer.trim()))
    throw new Failure('failed', 'Nothing was changed', null, 'cancelled')
}

/** One line from the terminal. The question goes to stderr, because stdout is for the answer. */
function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise((resolve) => {
    lines.question(question, (answer) => {
      resolve(answer)
      lines.close()
    })
    lines.once('close', () => resolve(''))
    lines.once('SIGINT', () => process.exit(130))
  })
}
