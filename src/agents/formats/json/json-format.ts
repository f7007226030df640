import type { Dialect } from '../../catalogue/agent-record.ts'
import { isSame, itemOf, type Json, type Path, wrapped } from '../../catalogue/json-value.ts'
import { CannotEdit, type Format, MAX_BYTES } from '../format.ts'
import { refusal, type Splice, spliced } from '../text-edits.ts'
import { type Parsed, type Proposal, verifiedFormat } from '../verified-format.ts'
import { addEntry, removeEntry, replaceValue, traceOf } from './json-edit.ts'
import { jsonOf, LONE_RETURN, MAX_DEPTH, memberAt, type Node, parseTree, walk } from './json-tree.ts'

interface ParsedJson extends Parsed {
  readonly root: Node | undefined
}

/** JSON, with the extensions that the dialect allows. */
export const jsonFormat = (dialect: Dialect): Format =>
  verifiedFormat<ParsedJson>({
    // About 0.1 s of CPU time per MiB. Claude Code keeps its history in such a file, which grows to several MiB.
    maxBytes: MAX_BYTES,
    acceptsBom: dialect.bom,
    parse(text) {
      const root = parseTree(text, dialect)
      let json: Json | undefined
      return {
        text,
        root,
        get json() {
          json ??= root && jsonOf(root)
          return json
        },
      }
    },
    readAgain: (text) => readPlain(text, dialect),
    find: ({ text, root }, path) => memberAt(walk(text, root, path), path)?.start,
    set,
    remove({ text, root }, path, trace) {
      const levels = walk(text, root, path)
      const member = memberAt(levels, path)
      return {
        text: member === undefined ? text : removeEntry(text, levels, path, trace),
        at: member?.start ?? 0,
      }
    },
  })

function set({ text, root }: ParsedJson, path: Path, value: Json): Proposal<ParsedJson> {
  assertWritable(value, path.length)
  const levels = walk(text, root, path)
  const containers = levels.map(({ container }) => container).reverse()
  const member = memberAt(levels, path)
  if (member !== undefined) {
    const step = path.at(-1)
    const item = typeof step === 'object' ? itemOf(step, value) : value
    const isUnchanged = isSame(jsonOf(member.node), item)
    return { text: isUnchanged ? text : replaceValue(text, containers, member, item), at: member.start }
  }
  const depth = levels.length - 1
  const step = path[Math.max(depth, 0)]
  if (step === undefined || (depth === -1 && typeof step !== 'string'))
    throw refusal(text, 0, 'The top of this file must be an object { }')
  const added = addEntry(text, containers, step, valueFrom(path, Math.max(depth, 0), value))
  return {
    text: added.text,
    at: containers[0]?.start ?? 0,
    trace: traceOf({ path: path.slice(0, -1), depth, blank: added.blank }),
  }
}

/** The value for the step at `from`, inside the maps and lists that the later steps need. */
function valueFrom(path: Path, from: number, value: Json): Json {
  const step = path[from]
  const inner = wrapped(path.slice(from + 1), value)
  return typeof step === 'object' ? itemOf(step, inner) : inner
}

function assertWritable(value: Json, depth: number): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw unwritable('JSON has only finite numbers')
  if (typeof value !== 'object' || value === null) return
  if (depth >= MAX_DEPTH) throw unwritable(`The value is nested deeper than ${MAX_DEPTH} levels`)
  for (const inner of Object.values(value)) assertWritable(inner, depth + 1)
}

const unwritable = (message: string): CannotEdit => new CannotEdit(message, { line: 1, column: 1 })

/**
 * Reads the text with JSON.parse, after comments and trailing commas are removed. The values owe nothing to the
 * tree, so that a mistake there is noticed.
 */
function readPlain(text: string, dialect: Dialect): Json | undefined {
  const plain = spliced(text, extrasIn(text, dialect))
  if (/^[ \t\r\n]*$/.test(plain)) return undefined
  try {
    return JSON.parse(plain)
  } catch {
    throw reasonFor(text, dialect)
  }
}

/** The message of JSON.parse quotes the file and has no position, so the tree's error is thrown instead. */
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
  if (!dialect.comments) throw refusal(text, at, 'The agent accepts no comments in this file')
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
