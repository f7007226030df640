import { createScanner, type JSONScanner } from 'jsonc-parser'
import type { Dialect } from '../../catalogue/catalogue.schema.ts'
import type { CannotEdit } from '../format.ts'
import { refusal } from '../text.ts'

/** The token kinds of jsonc-parser, which declares them as a const enum that does not exist at run time. */
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

/** By the error number of jsonc-parser, from 1. */
const ERRORS = [
  '',
  'a comment is not closed',
  'a string is not closed',
  'a number is incomplete',
  '\\u is not followed by four hex digits',
  'an unknown escape follows a backslash; double the backslashes in a path',
  'a string contains a control character',
]

/** Deeper than any agent's file, and far from the depth at which recursion exhausts the stack. */
export const MAX_DEPTH = 200

/** Some parsers end the comment here and others do not, so what follows is a value or part of the comment. */
export const LONE_RETURN = 'A carriage return without a line feed makes it unclear where this comment ends'

export const invalidJson = (text: string, offset: number, what: string): CannotEdit =>
  refusal(text, offset, `Invalid JSON: ${what}`)

/** Reads the text token by token and skips blanks and comments. Throws for what the dialect does not allow. */
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

  /** Undefined if the token is not a scalar. */
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
    if (!this.#dialect.comments)
      throw refusal(this.text, this.start, 'This agent cannot read comments. Remove this one first')
    if (this.kind === KIND.lineComment && this.text[this.end] === '\r' && this.text[this.end + 1] !== '\n')
      throw refusal(this.text, this.end, LONE_RETURN)
  }
}
