import { usage } from './failure.ts'

const MAX_CHARS = 10 * 1024 * 1024

/** Everything on stdin, for words that are `-`. */
export async function readStdin(): Promise<string> {
  if (process.stdin.isTTY)
    throw usage('`-` reads from a pipe, and stdin is a terminal', 'For example: cat file | toolroom …')
  let text = ''
  for await (const part of process.stdin.setEncoding('utf8')) {
    text += part
    if (text.length > MAX_CHARS) throw usage('The input is longer than 10 MB', null)
  }
  return text
}
