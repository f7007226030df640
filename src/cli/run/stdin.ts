import { usage } from './failure.ts'

const MAX_CHARS = 10 * 1024 * 1024
const MAX_SECRET_CHARS = 65_536

/** Everything on stdin, for words that are `-`. */
export async function readStdin(): Promise<string> {
  if (process.stdin.isTTY)
    throw usage('`-` reads from a pipe, and stdin is a terminal', 'For example: cat file | toolroom …')
  return piped(MAX_CHARS, 'The input is longer than 10 MB')
}

/** What a pipe sends, until it is closed. Fails with `tooLong` after too many characters. */
export async function piped(maxChars: number, tooLong: string): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxChars) throw usage(tooLong, null)
  }
  return text
}

/** A secret from stdin, without its last line break. On a terminal, the question is shown and the typing is not. */
export async function readSecret(question: string): Promise<string> {
  const { stdin, stderr } = process
  const value = stdin.isTTY && stderr.isTTY ? await typed(question) : await pipedSecret()
  if (value === '') throw usage('No value was given', 'Type it when you are asked, or send it to stdin')
  return value
}

async function pipedSecret(): Promise<string> {
  const text = await piped(MAX_SECRET_CHARS, `The value is longer than ${MAX_SECRET_CHARS} characters`)
  return text.replace(/\r?\n$/, '')
}

function typed(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(`${question} (not shown): `)
  stdin.setEncoding('utf8').setRawMode(true)
  const end = () => {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
  let value = ''
  return new Promise((resolve) => {
    stdin.on('data', function read(text: string) {
      for (const key of text) {
        if (key === '\u0003') {
          end()
          process.exit(130)
        }
        if (key === '\r' || key === '\n' || key === '\u0004') {
          stdin.off('data', read)
          end()
          return resolve(value)
        }
        value = key === '\u007f' || key === '\b' ? value.slice(0, -1) : value + key
      }
    })
  })
}
