import {
  isList,
  isMap,
  isSame,
  itemOf,
  type Json,
  type JsonMap,
  type Path,
  valueAt,
} from '../../catalogue/json-value.ts'
import { CannotEdit, type Trace } from '../format.ts'
import { refusal, type Splice } from '../text-edits.ts'
import { parseTrace } from '../verified-format.ts'
import { addition } from './toml-add.ts'
import { applied, type Lines, linesOf } from './toml-lines.ts'
import {
  lastOf,
  listOf,
  pathText,
  startOf,
  type Table,
  type Target,
  type TomlDoc,
  tableOf,
  targetJson,
  type Value,
  valueJson,
  walk,
} from './toml-model.ts'
import { removal, removalOfBlock } from './toml-remove.ts'
import { scanToml } from './toml-scan.ts'
import { valueText } from './toml-text.ts'

/** A parsed text that is ready for edits of whole lines. */
interface Draft {
  readonly lines: Lines
  readonly doc: TomlDoc
}

export function draftOf(doc: TomlDoc): Draft {
  const lines = linesOf(doc.text)
  return { lines, doc: { ...doc, text: lines.text } }
}

/** Sets the value at the path. The result is not verified. */
export function put(draft: Draft, path: Path, value: Json): string {
  const { lines, doc } = draft
  const found = walk(doc, path)
  const target = lastOf(found)
  const depth = found.length - 1
  if (depth < path.length) {
    const add = { doc, eol: lines.eol, container: target, depth, path, value }
    return applied(lines, addition(add))
  }
  const step = path.at(-1)
  const wanted = typeof step === 'object' ? itemOf(step, value) : value
  if (isSame(targetJson(target), wanted)) return applied(lines, [])
  if (target.type === 'pair' || target.type === 'item')
    return applied(lines, replacement(target.value, wanted))
  if (target.type === 'tables' || !isMap(wanted)) throw otherKind(doc, target, path)
  return putFields(draft, path, target, wanted)
}

/** Field by field, so that comments and the order of the fields stay. */
function putFields(draft: Draft, path: Path, table: Table, wanted: JsonMap): string {
  const together: Splice[] = []
  const later: string[] = []
  for (const name of changedNames(table, wanted)) {
    const splices = fieldSplices(draft, [...path, name], table, valueAt(wanted, [name]))
    if (splices === undefined) later.push(name)
    else together.push(...splices)
  }
  // A field with lines in several places is changed separately, because each change moves the others.
  let text = applied(draft.lines, together)
  for (const [index, name] of later.entries()) {
    const next = together.length + index === 0 ? draft : draftOf(scanToml(text))
    const value = valueAt(wanted, [name])
    text = value === undefined ? drop(next, [...path, name]) : put(next, [...path, name], value)
  }
  return text
}

function changedNames(table: Table, wanted: JsonMap): string[] {
  const changed = Object.keys(wanted).filter((name) => {
    const member = table.members.get(name)
    return member === undefined || !isSame(targetJson(member), wanted[name])
  })
  return [...changed, ...[...table.members.keys()].filter((name) => !Object.hasOwn(wanted, name))]
}

/** The change of a field that is, or will be, on its own lines in the table's block; undefined for any other field. */
function fieldSplices(
  { doc, lines }: Draft,
  path: Path,
  table: Table,
  value: Json | undefined,
): Splice[] | undefined {
  const { how } = table
  const member = table.members.get(String(path.at(-1)))
  if (how.by !== 'block') return undefined
  if (member === undefined) {
    if (value === undefined || typeof value === 'object') return undefined
    return addition({ doc, eol: lines.eol, container: table, depth: path.length - 1, path, value })
  }
  if (member.type !== 'pair' || member.home !== how.block) return undefined
  return value === undefined ? removal(doc, member) : replacement(member.value, value)
}

/** Removes the value at the path. The result is not verified. */
export function drop({ lines, doc }: Draft, path: Path): string {
  const found = walk(doc, path)
  return applied(lines, found.length <= path.length ? [] : removal(doc, lastOf(found)))
}

/** Item by item if a list keeps its length; otherwise the whole value. */
function replacement(old: Value, wanted: Json): Splice[] {
  if (old.kind === 'list' && isList(wanted) && wanted.length === old.items.length) {
    return old.items.flatMap((item, index) => {
      const next = wanted[index]
      return next === undefined || isSame(valueJson(item), next) ? [] : replacement(item, next)
    })
  }
  return [{ start: old.start, end: old.end, text: valueText(wanted) }]
}

function otherKind(doc: TomlDoc, target: Target, path: Path): CannotEdit {
  const message = `${pathText(path)} is a table and can only be changed field by field`
  return refusal(doc.text, startOf(target), message)
}

/** The range between the brackets of a list or an inline table. */
function innerOf(target: Target): { start: number; end: number } | undefined {
  const list = listOf(target)
  const how = tableOf(target)?.how
  const value = list ?? (how?.by === 'inline' ? how.inline : undefined)
  return value && { start: value.start + 1, end: value.end - 1 }
}

/** What a `set` created besides its value. */
interface Made {
  /** How many steps of the path existed before. */
  readonly depth: number
  /** The table at that depth had no header before, only tables below it. */
  readonly header?: true
  /** The blanks between the brackets of the empty list or inline table at that depth. */
  readonly inner?: string
}

/** Undefined if removing the value alone restores the same bytes. */
export function traceOf({ doc }: Draft, path: Path, edited: TomlDoc): Trace | undefined {
  const found = walk(doc, path)
  const depth = found.length - 1
  if (depth === path.length) return undefined
  const inner = blanksIn(doc.text, innerOf(lastOf(found)))
  const hasNewHeader = hasHeader(found, depth) !== hasHeader(walk(edited, path), depth)
  if (depth === path.length - 1 && !hasNewHeader && !inner) return undefined
  const made: Made = { depth, ...(hasNewHeader ? { header: true } : {}), ...(inner ? { inner } : {}) }
  return JSON.stringify(made)
}

function hasHeader(found: readonly Target[], depth: number): boolean {
  const target = found[depth]
  return target?.type === 'table' && target.how.by === 'block'
}

/** Undefined if there is more than blanks: comments stay when a value is added and removed. */
function blanksIn(text: string, inner: ReturnType<typeof innerOf>): string | undefined {
  const between = inner && text.slice(inner.start, inner.end)
  return between !== undefined && /^[ \t]+$/.test(between) ? between : undefined
}

/**
 * The text before the `set` that returned this trace. Undefined if repeating that `set` does not lead to the current
 * text: then the file was changed since, and only the value may be removed.
 */
export function textBefore(draft: Draft, path: Path, trace: Trace): string | undefined {
  const made = readTrace(trace)
  if (made === undefined || made.depth >= path.length) return undefined
  const present = applied(draft.lines, [])
  const found = walk(draft.doc, path)
  if (found.length <= path.length) return undefined
  try {
    const candidate = candidateFor(draft, path, made, found)
    if (candidate === undefined) return undefined
    const again = put(draftOf(scanToml(candidate)), path, targetJson(lastOf(found)))
    return again === present ? candidate : undefined
  } catch (error) {
    if (error instanceof CannotEdit) return undefined
    throw error
  }
}

function candidateFor(draft: Draft, path: Path, made: Made, found: readonly Target[]): string | undefined {
  if (made.header) {
    const container = found[made.depth]
    const how = container && tableOf(container)?.how
    if (how?.by !== 'block') return undefined
    return applied(draft.lines, removalOfBlock(draft.doc, how.block))
  }
  const shorter = drop(draft, path.slice(0, made.depth + 1))
  if (made.inner === undefined) return shorter
  const { lines, doc } = draftOf(scanToml(shorter))
  const left = walk(doc, path.slice(0, made.depth))
  const inner = left.length > made.depth ? innerOf(lastOf(left)) : undefined
  return inner && applied(lines, [{ ...inner, text: made.inner }])
}

function readTrace(trace: Trace): Made | undefined {
  const { depth, header, inner } = parseTrace(trace) ?? {}
  if (!Number.isInteger(depth) || Number(depth) < 0) return undefined
  return {
    depth: Number(depth),
    ...(header === true && { header }),
    ...(typeof inner === 'string' && { inner }),
  }
}
