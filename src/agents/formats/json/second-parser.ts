import type { Dialect } from '../../catalogue/catalogue.schema.ts'
import { CannotEdit, type Json } from '../format.ts'
import { cannotEdit, invalidJson, MAX_DEPTH, TOP } from './errors.ts'
import { parseTree } from './tree.ts'

interface Range {
  readonly start: number
  readonly end: number
}

/**
 * Reads with JSON.parse. Comments and commas behind the last entry become blanks before that, so that offsets stay.
 * What it says owes nothing to the tree: a mistake there shall not hide here.
 */
export function readPlain(text: string, dialect: Dialect): Json | undefined {
  const plain = blankOut(text, extrasIn(text, dialect))
  if (/^[ \t\r\n]*$/.test(plain)) return undefined
  try {
    return JSON.parse(plain)
  } catch {
    throw reasonFor(text, dialect)
  }
}

/** JSON.parse does not tell the place, and its message quotes the file. The tree knows better, and only here is it asked. */
function reasonFor(text: string, dialect: Dialect): unknown {
  try {
    parseTree(text, dialect)
  } catch (reason) {
    return reason
  }
  return new CannotEdit('Two readers of this file do not agree on whether it is valid JSON', TOP)
}

/** Everything that JSON.parse would not take and the dialect allows. */
function extrasIn(text: string, dialect: Dialect): Range[] {
  const extras: Range[] = []
  let depth = 0
  let comma: number | undefined
  let last = ''
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] ?? ''
    if (sign === ' ' || sign === '\t' || sign === '\r' || sign === '\n') continue
    const commentEnd = sign === '/' ? endOfComment(text, at, dialect) : undefined
    if (commentEnd !== undefined) {
      extras.push({ start: at, end: commentEnd })
      at = commentEnd - 1
      continue
    }
    if (sign === '"') at = endOfText(text, at)
    if (sign === '{' || sign === '[') depth = deeper(text, at, depth)
    if (sign === '}' || sign === ']') {
      depth -= 1
      if (comma !== undefined) extras.push(extraComma(text, comma, dialect))
    }
    comma = sign === ',' && !'{[,:'.includes(last) ? at : undefined
    last = sign
  }
  return extras.sort((one, other) => one.start - other.start)
}

function endOfComment(text: string, at: number, dialect: Dialect): number | undefined {
  const opening = text.slice(at, at + 2)
  if (opening !== '//' && opening !== '/*') return undefined
  if (!dialect.comments) {
    throw cannotEdit(
      text,
      at,
      (line) => `The agent that owns this file cannot read the comment in line ${line}`,
    )
  }
  if (opening === '/*') {
    const close = text.indexOf('*/', at + 2)
    if (close === -1) throw invalidJson(text, at, 'a comment is not closed')
    return close + 2
  }
  const lineFeed = text.indexOf('\n', at)
  const end = lineFeed === -1 ? text.length : lineFeed
  const lone = text.slice(at, end).search(lineFeed === -1 ? /\r/ : /\r(?=[\s\S])/)
  if (lone === -1) return end
  throw cannotEdit(text, at + lone, (line) => `It is not clear where the comment in line ${line} ends`)
}

function endOfText(text: string, at: number): number {
  for (let next = at + 1; next < text.length; next += 1) {
    if (text[next] === '\\') next += 1
    else if (text[next] === '"') return next
  }
  return text.length
}

function deeper(text: string, at: number, depth: number): number {
  if (depth < MAX_DEPTH) return depth + 1
  throw cannotEdit(text, at, (line) => `This file is nested deeper than ${MAX_DEPTH} levels in line ${line}`)
}

function extraComma(text: string, comma: number, dialect: Dialect): Range {
  if (dialect.trailingCommas) return { start: comma, end: comma + 1 }
  throw cannotEdit(
    text,
    comma,
    (line) => `The agent that owns this file cannot read the last comma in line ${line}`,
  )
}

function blankOut(text: string, extras: readonly Range[]): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end } of extras) {
    parts.push(text.slice(from, start), ' '.repeat(end - start))
    from = end
  }
  parts.push(text.slice(from))
  return parts.join('')
}
