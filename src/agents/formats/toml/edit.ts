import type { CannotEdit, Json, Path } from '../format.ts'
import { addition } from './add.ts'
import { applied, type Lines, linesOf, type Splice } from './lines.ts'
import { listOf, startOf, type Table, type Target, type TomlDoc, tableOf, type Value } from './model.ts'
import { pathText, walk } from './path.ts'
import { removal } from './remove.ts'
import { cannot } from './scan/cursor.ts'
import { scanToml } from './scan/scan.ts'
import { lastOf } from './scan/tables.ts'
import { isMap, type JsonMap, memberJson, sameJson, valueJson, withField } from './to-json.ts'
import { valueText } from './write-value.ts'

/** The text while it is edited: see `Lines`. */
export interface Draft {
  readonly lines: Lines
  readonly doc: TomlDoc
}

export function draftOf(doc: TomlDoc): Draft {
  const lines = linesOf(doc.text)
  return { lines, doc: { ...doc, text: lines.text } }
}

/** The text with the value at the path. Nothing is verified here. */
export function put(draft: Draft, path: Path, value: Json): string {
  const { lines, doc } = draft
  const way = walk(doc, path)
  const target = lastOf(way)
  const depth = way.length - 1
  if (depth < path.length) {
    const add = { doc, eol: lines.eol, container: target, depth, path, value }
    return applied(lines, addition(add))
  }
  const wanted = wantedAt(path, value)
  if (sameJson(targetJson(target), wanted)) return applied(lines, [])
  if (target.type === 'pair' || target.type === 'item')
    return applied(lines, replacement(target.value, wanted))
  if (target.type === 'tables' || !isMap(wanted)) throw otherKind(doc, target, path)
  return putFields(draft, path, target, wanted)
}

/** Field by field, so that comments and the order of the fields survive. */
function putFields(draft: Draft, path: Path, table: Table, wanted: JsonMap): string {
  const together: Splice[] = []
  const later: string[] = []
  for (const name of changedNames(table, wanted)) {
    const splices = fieldSplices(draft, [...path, name], table, ownValue(wanted, name))
    if (splices === undefined) later.push(name)
    else together.push(...splices)
  }
  // What has lines in several places is changed one by one: each change moves the others.
  let text = applied(draft.lines, together)
  for (const [index, name] of later.entries()) {
    const next = together.length + index === 0 ? draft : draftOf(scanToml(text))
    const value = ownValue(wanted, name)
    text = value === undefined ? drop(next, [...path, name]) : put(next, [...path, name], value)
  }
  return text
}

function changedNames(table: Table, wanted: JsonMap): string[] {
  const changed = Object.keys(wanted).filter((name) => {
    const member = table.members.get(name)
    return member === undefined || !sameJson(memberJson(member), wanted[name])
  })
  return [...changed, ...[...table.members.keys()].filter((name) => !Object.hasOwn(wanted, name))]
}

function ownValue(map: JsonMap, name: string): Json | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined
}

/** The change of a field that is one line of the table, or will be; undefined for any other. */
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

/** The text without the value at the path. Nothing is verified here. */
export function drop({ lines, doc }: Draft, path: Path): string {
  const way = walk(doc, path)
  if (way.length <= path.length) return applied(lines, [])
  return applied(lines, removal(doc, lastOf(way)))
}

/** The value that the path leads to after the edit: an item of a list keeps what it is found by. */
export function wantedAt(path: Path, value: Json): Json {
  const step = path.at(-1)
  if (typeof step !== 'object') return value
  return 'item' in step ? step.item : withField(step, value)
}

export function targetJson(target: Target): Json {
  return target.type === 'item' ? valueJson(target.value) : memberJson(target)
}

/** Item by item when a list keeps its length, else the bytes of the whole value. */
function replacement(old: Value, wanted: Json): Splice[] {
  if (old.kind === 'list' && Array.isArray(wanted) && wanted.length === old.items.length) {
    return old.items.flatMap((item, index) => {
      const next: Json = wanted[index]
      return sameJson(valueJson(item), next) ? [] : replacement(item, next)
    })
  }
  return [{ start: old.start, end: old.end, text: valueText(wanted) }]
}

function otherKind(doc: TomlDoc, target: Target, path: Path): CannotEdit {
  const message = `${pathText(path)} is written as a table and cannot be replaced as a whole; change its fields`
  return cannot(doc.text, startOf(target), message)
}

/** What stands between the brackets of a list or a map in braces. */
export function innerOf(target: Target): { start: number; end: number } | undefined {
  const list = listOf(target)
  const how = tableOf(target)?.how
  const value = list ?? (how?.by === 'inline' ? how.inline : undefined)
  return value && { start: value.start + 1, end: value.end - 1 }
}
