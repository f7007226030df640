import type { Json } from '../format.ts'

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
export type TableHow =
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
