import { createScanner, printParseErrorCode, visit } from 'jsonc-parser'
import { Fault } from './snippet-error.ts'

export const MAX_DEPTH = 64
const MAX_DIGITS = 40
const WHAT = 'The JSON in the snippet'

/** jsonc-parser's token kinds. It declares them as a const enum, which does not exist at run time. */
const OPEN: readonly number[] = [1, 3]
const CLOSE: readonly number[] = [2, 4]
const STRING = 10
const UNKNOWN = 16
const END = 17

const WORDS: Partial<Record<string, string>> = {
  InvalidSymbol: 'there is a word or sign that JSON does not have',
  PropertyNameExpected: 'a name in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is missing',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: "a closing '}' is missing",
  CloseBracketExpected: "a closing ']' is missing",
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfString: 'a text is not closed by a quote',
  InvalidUnicode: 'a \\u is not followed by four hex digits',
  InvalidEscapeCharacter: 'a backslash stands alone; in a path, write it twice',
  InvalidCharacter: 'a text holds a control character',
}

/**
 * Reads one JSON value, or properties without the braces around them, from an offset on. Comments and trailing
 * commas are fine. `end` in the answer is where it stopped. Throws a Fault.
 */
export function readJson(text: string, at: number): { value: unknown; end: number } {
  const { end, isBare } = extentOf(text, at)
  const inner = text.slice(at, end)
  // The line break before the added brace ends a comment that the text may close with.
  if (isBare) return { value: build(`{${inner}\n}`, at - 1, end), end }
  return { value: build(inner, at, end), end }
}

/** Where the value ends. Depth is measured here, before a recursive parser sees the text. */
function extentOf(text: string, at: number): { end: number; isBare: boolean } {
  const scanner = createScanner(text, true)
  scanner.setPosition(at)
  let token: number = scanner.scan()
  const isBare = token === STRING
  if (token === UNKNOWN) throw new Fault(WHAT, scanner.getTokenOffset(), WORDS.InvalidSymbol ?? '')
  for (let depth = 0; token !== END; token = scanner.scan()) {
    if (OPEN.includes(token)) depth += 1
    if (CLOSE.includes(token)) depth -= 1
    if (depth > MAX_DEPTH) {
      throw new Fault(WHAT, scanner.getTokenOffset(), `it is nested deeper than ${MAX_DEPTH} levels`)
    }
    if (isBare && (depth < 0 || (depth === 0 && token === UNKNOWN))) {
      return { end: scanner.getTokenOffset(), isBare } // a brace too many, or the prose that follows
    }
    if (!isBare && depth <= 0) return { end: scanner.getPosition(), isBare }
  }
  return { end: text.length, isBare }
}

/** Objects get no prototype, so that the key `__proto__` is a key like any other. */
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
      // The first error ends it: what jsonc-parser does afterwards is guessing, and may nest without end.
      onError: (code, offset) => {
        const message = WORDS[printParseErrorCode(code)] ?? 'it is not valid JSON'
        throw new Fault(WHAT, Math.min(shift + offset, end), message)
      },
    },
    { allowTrailingComma: true },
  )
  return holder[0]
}

/** An id of 19 digits would lose its last ones as a number. */
function exact(value: unknown, written: string): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || written.length > MAX_DIGITS) return value
  return /^-?\d+$/.test(written) ? BigInt(written) : value
}

const STRAIGHT = String.raw`"(?:[^"\\\n]|\\.)*"?`
const CURLY = String.raw`[\u201c\u201d\u201e\u201f](?:[^"\u201c\u201d\u201e\u201f\\\n]|\\.)*(["\u201c\u201d\u201e\u201f])?`
const ODD_SPACE = String.raw`[\u00a0\u2007\u200b\u202f\u3000\ufeff]`
const REPAIRS = new RegExp(`${STRAIGHT}|${CURLY}|(${ODD_SPACE})`, 'g')

/**
 * What word processors and web pages do to JSON: curly quotes as delimiters, odd spaces. Keeps the length.
 * Every alternative also matches without its end, so that no character is looked at twice.
 */
export function repair(text: string): string {
  return text.replace(REPAIRS, (all, closed?: string, space?: string) => {
    if (space !== undefined) return ' '
    return closed === undefined ? all : `"${all.slice(1, -1)}"`
  })
}
