import {
  type ItemStep,
  isItem,
  type Json,
  type Path,
  type Step,
  setMember,
  stepName,
} from '../../catalogue/json-value.ts'
import { refusal } from '../text-edits.ts'

/** A parsed TOML text with the positions that edits need. Offsets count from the start of the text. */
export interface TomlDoc {
  readonly text: string
  readonly root: Table
  /** The lines before the first header, then one block for each header, in the order of the file. */
  readonly blocks: readonly Block[]
}

/** A header and the pairs under it. The first block of a file has no header. */
export interface Block {
  readonly header: Header | undefined
  readonly pairs: Pair[]
}

export interface Header {
  readonly names: readonly string[]
  readonly isArray: boolean
  readonly start: number
  readonly end: number
}

/** `a.b = value`, in a block or inside an inline table. It ends where its value ends. */
export interface Pair {
  readonly type: 'pair'
  readonly names: readonly string[]
  readonly start: number
  readonly nameEnd: number
  readonly value: Value
  readonly home: Block | InlineTable
}

export type Value = Scalar | List | InlineTable
interface Scalar {
  readonly kind: 'scalar'
  readonly start: number
  readonly end: number
  readonly json: Json
}
/** `[1, 2]` */
export interface List {
  readonly kind: 'list'
  readonly start: number
  end: number
  readonly items: Value[]
  /** Offsets of the commas. The comma at index n follows the item at index n. */
  readonly commas: number[]
}
/** `{ a = 1 }` */
export interface InlineTable {
  readonly kind: 'inline'
  readonly start: number
  end: number
  readonly pairs: Pair[]
  readonly table: Table
}

export type Member = Table | Tables | Pair
/** A map in any notation. */
export interface Table {
  readonly type: 'table'
  how: TableHow
  readonly members: Map<string, Member>
}
/** `[[name]]` blocks. */
export interface Tables {
  readonly type: 'tables'
  readonly items: Table[]
}

/**
 * - `block`: the top of the file, or a table with its own header
 * - `implied`: named only as part of another header
 * - `dotted`: named only as part of the dotted name of a pair
 * - `inline`: in braces
 */
type TableHow =
  | { readonly by: 'block'; readonly block: Block }
  | { readonly by: 'implied' }
  | { readonly by: 'dotted'; readonly names: readonly string[]; readonly pairs: Pair[] }
  | { readonly by: 'inline'; readonly inline: InlineTable }

/** What a path can lead to: a member or a list item. */
export type Target = Member | Item
interface Item {
  readonly type: 'item'
  readonly list: List
  readonly index: number
  readonly value: Value
}

export function tableOf(target: Target): Table | undefined {
  if (target.type === 'table') return target
  if (target.type === 'tables' || target.value.kind !== 'inline') return undefined
  return target.value.table
}

export function listOf(target: Target): List | undefined {
  if (target.type === 'table' || target.type === 'tables') return undefined
  return target.value.kind === 'list' ? target.value : undefined
}

/** The offset where it begins, with its name. */
export function startOf(target: Target): number {
  switch (target.type) {
    case 'pair':
      return target.start
    case 'item':
      return target.value.start
    case 'tables':
      return firstStart(target.items)
    case 'table':
      break
  }
  const { how, members } = target
  switch (how.by) {
    case 'block':
      return how.block.header?.start ?? 0
    case 'dotted':
      return firstStart(how.pairs)
    case 'inline':
      return how.inline.start
    case 'implied':
      return firstStart(members.values())
  }
}

function firstStart(targets: Iterable<Target>): number {
  for (const first of targets) return startOf(first)
  return 0
}

/** The rules of TOML 1.0 about where tables and keys may be defined. */

export function newTable(how: TableHow): Table {
  return { type: 'table', how, members: new Map() }
}

/** `a.b.c = 1` defines `a` and `a.b` as dotted tables. Only the same block may add to them. */
export function definePair(text: string, table: Table, pair: Pair): void {
  const within = pair.names
    .slice(0, -1)
    .reduce((outer, name, index) => dottedTable(text, outer, name, pair, index), table)
  const name = lastOf(pair.names)
  if (within.members.has(name)) throw duplicate(text, pair.start, pair.names)
  within.members.set(name, pair)
}

function dottedTable(text: string, within: Table, name: string, pair: Pair, index: number): Table {
  const found = within.members.get(name)
  if (found === undefined) {
    const made = newTable({ by: 'dotted', names: pair.names.slice(0, index + 1), pairs: [pair] })
    within.members.set(name, made)
    return made
  }
  if (found.type !== 'table' || found.how.by !== 'dotted') throw duplicate(text, pair.start, pair.names)
  found.how.pairs.push(pair)
  return found
}

/** `[a.b]` or `[[a.b]]`. Returns the table that the pairs of the block belong to. */
export function defineBlock(text: string, root: Table, block: Block, header: Header): Table {
  const within = header.names
    .slice(0, -1)
    .reduce((table, name) => tableOnPath(text, table, name, header), root)
  const name = lastOf(header.names)
  const found = within.members.get(name)
  if (!header.isArray && found?.type === 'table' && found.how.by === 'implied') {
    found.how = { by: 'block', block }
    return found
  }
  const table = newTable({ by: 'block', block })
  if (found === undefined)
    within.members.set(name, header.isArray ? { type: 'tables', items: [table] } : table)
  else if (header.isArray && found.type === 'tables') found.items.push(table)
  else throw duplicate(text, header.start, header.names)
  return table
}

function tableOnPath(text: string, within: Table, name: string, header: Header): Table {
  const found = within.members.get(name) ?? newTable({ by: 'implied' })
  within.members.set(name, found)
  const table = found.type === 'tables' ? found.items.at(-1) : found
  if (table?.type !== 'table') throw duplicate(text, header.start, header.names)
  return table
}

function duplicate(text: string, offset: number, names: readonly string[]): Error {
  return refusal(text, offset, `Duplicate definition of '${names.join('.')}'`)
}

export function lastOf<T>(list: readonly T[]): T {
  const last = list.at(-1)
  if (last === undefined) throw new RangeError('The list is empty')
  return last
}

export function tableJson(table: Table): Json {
  const json = {}
  for (const [name, member] of table.members) setMember(json, name, targetJson(member))
  return json
}

export function targetJson(target: Target | Member): Json {
  if (target.type === 'table') return tableJson(target)
  if (target.type === 'tables') return target.items.map(tableJson)
  return valueJson(target.value)
}

export function valueJson(value: Value): Json {
  if (value.kind === 'inline') return tableJson(value.table)
  return value.kind === 'list' ? value.items.map(valueJson) : value.json
}

/** Undefined for an empty file, which in TOML is the same as an empty table. */
export function orUndefined(json: Json): Json | undefined {
  return Object.keys(json ?? {}).length === 0 ? undefined : json
}

/** The existing values on the path, the top of the file first. All exist if there is one more than steps. */
export function walk(doc: TomlDoc, path: Path): [Target, ...Target[]] {
  const found: [Target, ...Target[]] = [doc.root]
  let target: Target = doc.root
  for (const [index, step] of path.entries()) {
    const next = follow(doc, target, step, path.slice(0, index))
    if (next === undefined) break
    found.push(next)
    target = next
  }
  return found
}

function follow(doc: TomlDoc, target: Target, step: Step, before: Path): Target | undefined {
  if (typeof step === 'string') {
    const table = tableOf(target)
    if (table === undefined) throw notA('table', doc, target, before)
    return table.members.get(step)
  }
  const [first, second] = itemsOf(doc, target, step, before)
  const duplicated = `Duplicate ${pathText([...before, step])}. Remove one of the two first`
  if (second !== undefined) throw refusal(doc.text, startOf(second), duplicated)
  return first
}

function itemsOf(doc: TomlDoc, target: Target, step: ItemStep, before: Path): Target[] {
  if (target.type === 'tables' && 'field' in step) {
    return target.items.filter((table) => isItem(tableJson(table), step))
  }
  const list = listOf(target)
  if (list === undefined) throw notA('item' in step ? 'list of strings' : 'list', doc, target, before)
  const items = list.items.map((value, index) => ({ type: 'item', list, index, value }) as const)
  return items.filter(({ value }) => isItem(valueJson(value), step))
}

function notA(what: string, doc: TomlDoc, target: Target, path: Path): Error {
  return refusal(doc.text, startOf(target), `${pathText(path)} must be a ${what}`)
}

export function pathText(path: Path): string {
  if (path.length === 0) return 'The top of the file'
  return `'${path.map(stepName).join('.')}'`
}
