/** What may stand between two tokens: blanks, line breaks, comments. The text has been parsed, so all are complete. */

export interface Tail {
  /** Behind the last comment, or where it began when there is none. */
  readonly end: number
  /** What ends it: the line break, or the next token. */
  readonly stop: number
  /** Where the next line begins; undefined when a token follows on this line. */
  readonly nextLine: number | undefined
  /** Nothing can be put behind it on this line. */
  readonly hasLineComment: boolean
}

/** What follows on the same line. A comment that goes on over several lines is part of it, if so wished. */
export function tailAfter(text: string, from: number, takes: 'long comments' | 'one line'): Tail {
  let end = from
  let at = from
  let hasLineComment = false
  for (;;) {
    if (text[at] === '\n') return { end, stop: at, nextLine: at + 1, hasLineComment }
    const commentEnd = endOfComment(text, at)
    const isTaken = takes === 'long comments' || !text.slice(at, commentEnd ?? at).includes('\n')
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

/** In a stretch without values. */
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

/** A carriage return without a line feed is no line break to us, only a blank. */
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

export function lineStartOf(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1
}

/** The indentation of the line that this stands on. */
export function lineIndent(text: string, offset: number): string {
  const indent = /[ \t]*/y
  indent.lastIndex = lineStartOf(text, offset)
  return indent.exec(text)?.[0] ?? ''
}

export interface Splice {
  readonly start: number
  readonly end: number
  readonly insert: string
}

/** In the order of the text, and none within another. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let made = ''
  let from = 0
  for (const { start, end, insert } of splices) {
    made += text.slice(from, start) + insert
    from = end
  }
  return made + text.slice(from)
}
