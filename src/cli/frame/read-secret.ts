import { usage } from './failure.ts'

const MAX_CHARACTERS = 65_536

/** A secret from stdin, without its last line break. On a terminal, the question is shown and the typing is not. */
export async function readSecret(question: string): Promise<string> {
  const { stdin, stderr } = process
  stdin.setEncoding('utf8')
  const value = stdin.isTTY && stderr.isTTY ? await typed(question) : await piped()
  if (value === '') throw usage('No value was given', 'Type it when you are asked, or send it to stdin')
  return value
}

async function piped(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin) {
    text += chunk
    if (text.length > MAX_CHARACTERS)
      throw usage(`The value is longer than ${MAX_CHARACTERS} characters`, null)
  }
  return text.replace(/\r?\n$/, '')
}

function typed(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(`${question} (not shown): `)
  stdin.setRawMode(true)
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
