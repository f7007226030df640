import { createScanner, printParseErrorCode, visit } from 'jsonc-parser'
import { parse, TomlError } from 'smol-toml'
import { KIND } from '../../../agents/formats/json/json-tree.ts'
import { Fault } from './snippet-error.ts'

const MAX_DEPTH = 64
const MAX_DIGITS = 40
const WHAT = 'The JSON in the snippet'

const MESSAGES: Partial<Record<string, string>> = {
  InvalidSymbol: 'unexpected word or character',
  PropertyNameExpected: 'a name in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is missing',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: "a closing '}' is missing",
  CloseBracketExpected: "a closing ']' is missing",
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfString: 'a string is not closed by a quote',
  InvalidUnicode: 'a \\u is not followed by four hex digits',
  InvalidEscapeCharacter: 'invalid escape sequence; write a backslash in a path twice',
  InvalidCharacter: 'a string contains a control character',
}

/**
 * Parses one JSON value, or properties without enclosing braces, at an offset. Comments and trailing commas are allowed.
 * `end` is the offset after the value. Throws a Fault.
 */
export function readJson(text: string, at: number): { value: unknown; end: number } {
  const { end, isBare } = extentOf(text, at)
  const inner = text.slice(at, end)
  // The line break before the added brace ends a comment at the end of the text.
  if (isBare) return { value: build(`{${inner}\n}`, at - 1, end), end }
  return { value: build(inner, at, end), end }
}

/** Where the value ends. Checks the depth before a recursive parser sees the text. */
function extentOf(text: string, at: number): { end: number; isBare: boolean } {
  const scanner = createScanner(text, true)
  scanner.setPosition(at)
  let token: number = scanner.scan()
  const isBare = token === KIND.text
  if (token === KIND.unknown) throw new Fault(WHAT, scanner.getTokenOffset(), MESSAGES.InvalidSymbol ?? '')
  for (let depth = 0; token !== KIND.end; token = scanner.scan()) {
    if (token === KIND.openMap || token === KIND.openList) depth += 1
    if (token === KIND.closeMap || token === KIND.closeList) depth -= 1
    if (depth > MAX_DEPTH) {
      throw new Fault(WHAT, scanner.getTokenOffset(), `it is nested deeper than ${MAX_DEPTH} levels`)
    }
    if (isBare && (depth < 0 || (depth === 0 && token === KIND.unknown))) {
      return { end: scanner.getTokenOffset(), isBare } // an extra brace, or prose after the value
    }
    if (!isBare && depth <= 0) return { end: scanner.getPosition(), isBare }
  }
  return { end: text.length, isBare }
}

/** Objects have no prototype, so that `__proto__` is an ordinary key. */
function build(source: string, shift: number, end: number): unknown {
  type Container = unknown[] | Record<string, unknown>
  const holder: unknown[] = []
  const open: Container[] = [holder]
  const keys: string[] = []
  const add = (value: unknown) => {
    const container = open.at(-1) ?? holder
    if (Array.isArray(container)) container.push(value)
    else container[keys.pop() ?? ''] = value
  }
  const begin = (container: Container) => {
    add(container)
    open.push(container)
  }
  const close = () => void open.pop()
  visit(
    source,
    {
      onObjectBegin: () => begin(Object.create(null)),
      onArrayBegin: () => begin([]),
      onObjectEnd: close,
      onArrayEnd: close,
      onObjectProperty: (key) => void keys.push(key),
      onLiteralValue: (value, offset, length) => add(exact(value, source.slice(offset, offset + length))),
      // Stops at the first error: jsonc-parser's recovery is guesswork and may nest without limit.
      onError: (code, offset) => {
        const message = MESSAGES[printParseErrorCode(code)] ?? 'it is not valid JSON'
        throw new Fault(WHAT, Math.min(shift + offset, end), message)
      },
    },
    { allowTrailingComma: true },
  )
  return holder[0]
}

/** A long integer as a bigint, which keeps all its digits. */
function exact(value: unknown, written: string): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || written.length > MAX_DIGITS) return value
  return /^-?\d+$/.test(written) ? BigInt(written) : value
}

const STRAIGHT = String.raw`"(?:[^"\\\n]|\\.)*"?`
const CURLY = String.raw`[\u201c\u201d\u201e\u201f](?:[^"\u201c\u201d\u201e\u201f\\\n]|\\.)*(["\u201c\u201d\u201e\u201f])?`
const ODD_SPACE = String.raw`[\u00a0\u2007\u200b\u202f\u3000\ufeff]`
const REPAIRS = new RegExp(`${STRAIGHT}|${CURLY}|(${ODD_SPACE})`, 'g')

/**
 * Undoes what word processors and web pages do to JSON: curly quotes as delimiters, special spaces. Keeps the length.
 * Every alternative also matches without its end, so that the time is linear.
 */
export function repair(text: string): string {
  return text.replace(REPAIRS, (all, closed?: string, space?: string) => {
    if (space !== undefined) return ' '
    return closed === undefined ? all : `"${all.slice(1, -1)}"`
  })
}

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
