import { createScanner, type JSONScanner } from 'jsonc-parser'
import type { Dialect } from '../../catalogue/catalogue.schema.ts'
import { cannotEdit, invalidJson } from './errors.ts'

/** jsonc-parser's token kinds. It declares them as a const enum, which does not exist at run time. */
export const KIND = {
  openMap: 1,
  closeMap: 2,
  openList: 3,
  closeList: 4,
  comma: 5,
  colon: 6,
  null: 7,
  true: 8,
  false: 9,
  text: 10,
  number: 11,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  blank: 15,
  unknown: 16,
  end: 17,
} as const
export const CLOSES: readonly number[] = [KIND.closeMap, KIND.closeList]

/** By the number of jsonc-parser's error, from 1. */
const ERRORS = [
  '',
  'a comment is not closed',
  'a text is not closed by a quote',
  'a number is not complete',
  'a \\u is not followed by four hex digits',
  'a backslash stands alone; in a path, write it twice',
  'a text holds a control character',
]

/** The text, token by token, without what stands between. Throws CannotEdit for what the dialect does not have. */
export class Tokens {
  readonly text: string
  kind: number = KIND.end
  start = 0
  end = 0
  readonly #scanner: JSONScanner
  readonly #dialect: Dialect

  constructor(text: string, dialect: Dialect) {
    this.text = text
    this.#scanner = createScanner(text, false)
    this.#dialect = dialect
    this.next()
  }

  next(): void {
    do {
      this.kind = this.#scanner.scan()
      this.start = this.#scanner.getTokenOffset()
      this.end = this.#scanner.getPosition()
      this.#check()
    } while (this.kind >= KIND.lineComment && this.kind <= KIND.blank)
  }

  /** Undefined when the token is no single value. */
  scalar(): null | boolean | number | string | undefined {
    switch (this.kind) {
      case KIND.null:
        return null
      case KIND.true:
        return true
      case KIND.false:
        return false
      case KIND.text:
        return this.#scanner.getTokenValue()
      case KIND.number:
        return Number(this.text.slice(this.start, this.end))
      default:
        return undefined
    }
  }

  #check(): void {
    const error = ERRORS[this.#scanner.getTokenError()]
    if (error) throw invalidJson(this.text, this.start, error)
    if (this.kind !== KIND.lineComment && this.kind !== KIND.blockComment) return
    if (!this.#dialect.comments) throw cannotEdit(this.text, this.start, noComments)
    // For some readers the comment ends here, for others it goes on: what follows may be a value or none.
    if (this.kind === KIND.lineComment && this.text[this.end] === '\r' && this.text[this.end + 1] !== '\n') {
      throw cannotEdit(this.text, this.end, loneReturn)
    }
  }
}

function noComments(line: number): string {
  return `The agent that owns this file cannot read comments; this one begins in line ${line}. Remove it first`
}

function loneReturn(line: number): string {
  return `It is not clear where the comment in line ${line} ends: a carriage return stands there without a line feed`
}
