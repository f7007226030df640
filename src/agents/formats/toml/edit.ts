import type { CannotEdit, Json, Path } from '../format.ts'
import { isList, isMap, isSame, itemOf, type JsonMap, valueAt } from '../json-value.ts'
import { refusal, type Splice } from '../text.ts'
import { addition } from './add.ts'
import { applied, type Lines, linesOf } from './lines.ts'
import { listOf, startOf, type Table, type Target, type TomlDoc, tableOf, type Value } from './model.ts'
import { pathText, walk } from './path.ts'
import { removal } from './remove.ts'
import { scanToml } from './scan/scan.ts'
import { lastOf } from './scan/tables.ts'
import { targetJson, valueJson } from './to-json.ts'
import { valueText } from './write-value.ts'

/** A parsed text that is ready for edits of whole lines. */
export interface Draft {
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
export function innerOf(target: Target): { start: number; end: number } | undefined {
  const list = listOf(target)
  const how = tableOf(target)?.how
  const value = list ?? (how?.by === 'inline' ? how.inline : undefined)
  return value && { start: value.start + 1, end: value.end - 1 }
}
