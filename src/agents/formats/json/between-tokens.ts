/** Blanks, line breaks and comments between tokens. The text has been parsed, so all comments are closed. */

export interface Tail {
  /** After the last comment; where the tail began if there is none. */
  readonly end: number
  /** Where the line break or the next token begins. */
  readonly stop: number
  /** Where the next line begins; undefined if a token follows on this line. */
  readonly nextLine: number | undefined
  /** Text added on this line would become part of the comment. */
  readonly hasLineComment: boolean
}

/** The blanks and comments that follow on the same line. `comments` says whether those over several lines count. */
export function tailAfter(text: string, from: number, comments: 'all' | 'on one line'): Tail {
  let end = from
  let at = from
  let hasLineComment = false
  for (;;) {
    if (text[at] === '\n') return { end, stop: at, nextLine: at + 1, hasLineComment }
    const commentEnd = endOfComment(text, at)
    const isTaken = comments === 'all' || !text.slice(at, commentEnd ?? at).includes('\n')
    if (commentEnd !== undefined && isTaken) {
      hasLineComment = text[at + 1] === '/'
      at = commentEnd
      end = commentEnd
    } else if (isBlank(text[at])) at += 1
    else return { end, stop: at, nextLine: undefined, hasLineComment }
  }
}

export interface Comment {
  readonly end: number
  readonly isLine: boolean
}

/** The last comment in a range without values. */
export function lastComment(text: string, from: number, to: number): Comment | undefined {
  let last: Comment | undefined
  let at = from
  while (at < to) {
    const end = endOfComment(text, at)
    if (end !== undefined) last = { end, isLine: text[at + 1] === '/' }
    at = end ?? at + 1
  }
  return last
}

function endOfComment(text: string, at: number): number | undefined {
  if (text[at] !== '/') return undefined
  if (text[at + 1] === '*') return text.indexOf('*/', at + 2) + 2
  const lineFeed = text.indexOf('\n', at)
  if (lineFeed === -1) return text.length
  return text[lineFeed - 1] === '\r' ? lineFeed - 1 : lineFeed
}

/** A carriage return without a line feed counts as a blank and not as a line break. */
export function isBlank(sign: string | undefined): boolean {
  return sign === ' ' || sign === '\t' || sign === '\r'
}

export function afterBlanks(text: string, from: number): number {
  let at = from
  while (isBlank(text[at])) at += 1
  return at
}

export function beforeBlanks(text: string, from: number): number {
  let at = from
  while (isBlank(text[at - 1])) at -= 1
  return at
}
