import { parse, TomlError } from 'smol-toml'
import { Fault } from './snippet-error.ts'
import { MAX_DEPTH } from './snippet-json.ts'

/** Parses TOML from an offset to the end. Throws a Fault. */
export function readToml(text: string, at: number): unknown {
  const source = text.slice(at)
  try {
    return parse(source, { maxDepth: MAX_DEPTH, integersAsBigInt: 'asNeeded' })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    // Only the first line and no cause: the next lines quote the text, which may contain a secret.
    const message = error.message.split('\n', 1)[0]?.replace('Invalid TOML document: ', '') ?? ''
    const offset = offsetOf(source, error)
    const isOpen = source[offset] === '\n' && message.includes('control characters')
    throw new Fault(
      'The TOML in the snippet',
      at + offset,
      isOpen ? 'a string is not closed by a quote' : message,
    )
  }
}

function offsetOf(text: string, { line, column }: TomlError): number {
  let start = 0
  for (let count = 1; count < line; count += 1) start = text.indexOf('\n', start) + 1
  return start + column - 1
}
