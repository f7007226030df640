import type { Dialect } from '../../catalogue/agent-record.ts'
import type { Json } from '../../catalogue/json-value.ts'
import { refusal, type Splice, spliced } from '../text.ts'
import { LONE_RETURN, MAX_DEPTH, parseTree } from './json-tree.ts'

/**
 * Reads the text with JSON.parse, after comments and trailing commas are removed. The values owe nothing to the
 * tree, so that a mistake there is noticed.
 */
export function readPlain(text: string, dialect: Dialect): Json | undefined {
  const plain = spliced(text, extrasIn(text, dialect))
  if (/^[ \t\r\n]*$/.test(plain)) return undefined
  try {
    return JSON.parse(plain)
  } catch {
    throw reasonFor(text, dialect)
  }
}

/** The message of JSON.parse quotes the file and has no place, so the tree's error is thrown instead. */
function reasonFor(text: string, dialect: Dialect): unknown {
  try {
    parseTree(text, dialect)
  } catch (reason) {
    return reason
  }
  return refusal(text, 0, 'Two parsers disagree on whether this file is valid JSON')
}

/** The comments and trailing commas that the dialect allows, each to be replaced by a space. */
function extrasIn(text: string, dialect: Dialect): Splice[] {
  const extras: Splice[] = []
  let depth = 0
  let comma: number | undefined
  let last = ''
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] ?? ''
    if (sign === ' ' || sign === '\t' || sign === '\r' || sign === '\n') continue
    const commentEnd = sign === '/' ? endOfComment(text, at, dialect) : undefined
    if (commentEnd !== undefined) {
      extras.push({ start: at, end: commentEnd, text: ' ' })
      at = commentEnd - 1
      continue
    }
    if (sign === '"') at = endOfString(text, at)
    if (sign === '{' || sign === '[') depth += 1
    if (depth > MAX_DEPTH) throw refusal(text, at, `The file is nested deeper than ${MAX_DEPTH} levels`)
    if (sign === '}' || sign === ']') {
      depth -= 1
      if (comma !== undefined && !dialect.trailingCommas)
        throw refusal(text, comma, 'This agent cannot read a trailing comma')
      if (comma !== undefined) extras.push({ start: comma, end: comma + 1, text: ' ' })
    }
    comma = sign === ',' && !'{[,:'.includes(last) ? at : undefined
    last = sign
  }
  return extras
}

function endOfComment(text: string, at: number, dialect: Dialect): number | undefined {
  const opening = text.slice(at, at + 2)
  if (opening !== '//' && opening !== '/*') return undefined
  if (!dialect.comments) throw refusal(text, at, 'This agent cannot read comments')
  if (opening === '/*') {
    const close = text.indexOf('*/', at + 2)
    if (close === -1) throw refusal(text, at, 'The comment is not closed')
    return close + 2
  }
  const lineFeed = text.indexOf('\n', at)
  const end = lineFeed === -1 ? text.length : lineFeed
  const lone = text.slice(at, end).search(lineFeed === -1 ? /\r/ : /\r(?=[\s\S])/)
  if (lone !== -1) throw refusal(text, at + lone, LONE_RETURN)
  return end
}

function endOfString(text: string, at: number): number {
  for (let next = at + 1; next < text.length; next += 1) {
    if (text[next] === '\\') next += 1
    else if (text[next] === '"') return next
  }
  return text.length
}
