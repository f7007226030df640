import type { Json, Path } from '../format.ts'
import { blockText, endOfFamily, familyOf } from './blocks.ts'
import { addInlinePair } from './inline-tables.ts'
import { aboveComments, endOfContent, lineEnd, lineStart, pairLines, type Splice } from './lines.ts'
import { addItem } from './lists.ts'
import {
  type Block,
  type InlineTable,
  listOf,
  type Pair,
  type Table,
  type Target,
  type TomlDoc,
  tableOf,
} from './model.ts'
import { lastOf } from './scan/tables.ts'
import { equalsOf, pairIndent, pairText } from './style.ts'
import { isMap, type JsonMap, named, withField, wrapped } from './to-json.ts'
import { valueText } from './write-value.ts'

/** A value that is not there yet: `path[depth]` is its first step that leads to nothing, in `container`. */
interface Addition {
  readonly doc: TomlDoc
  readonly eol: string
  readonly container: Target
  readonly depth: number
  readonly path: Path
  readonly value: Json
}

export function addition(add: Addition): Splice[] {
  const { doc, eol, container, depth, path, value } = add
  const list = listOf(container)
  if (list !== undefined) {
    const [item] = asList(wrapped(path.slice(depth), value))
    return addItem(doc, eol, list, valueText(item ?? ''))
  }
  const table = tableOf(container)
  if (table === undefined) return [newBlock(add, true, elementFields(path.slice(depth), value), depth)]
  return addMember(add, table)
}

function addMember(add: Addition, table: Table): Splice[] {
  const { doc, path, depth, value } = add
  const { how } = table
  const name = String(path[depth])
  const inner = wrapped(path.slice(depth + 1), value)
  if (how.by === 'inline') return [addInlinePair(how.inline, pairText([name], inner, ' = '))]
  if (how.by === 'dotted') return [addDotted(add, [...how.names, name], inner, lastOf(how.pairs))]
  const listAt = path.findIndex((step, index) => index > depth && typeof step !== 'string')
  const step = path[listAt]
  if (isBlockWanted(add, table, inner)) {
    if (typeof step === 'object' && 'field' in step) {
      return [newBlock(add, true, elementFields(path.slice(listAt), value), listAt)]
    }
    const end = listAt === -1 ? path.length : listAt
    const content = listAt === -1 ? value : wrapped(path.slice(listAt), value)
    if (isMap(content)) return [newBlock(add, false, content, end)]
    if (end > depth + 1) return [newBlock(add, false, named(String(path[end - 1]), content), end - 1)]
  }
  if (how.by === 'implied') return [newBlock(add, false, named(name, inner), depth)]
  const line = (near: Block) => pairText([name], inner, equalsOf(doc, near))
  return [
    table === doc.root
      ? topLine(add, how.block, line(how.block))
      : blockLine(add, how.block, line(how.block)),
  ]
}

/**
 * An entry gets a table of its own, as agents write it. A map inside an entry is shorter and safer in braces, unless
 * the file has tables in that place already.
 */
function isBlockWanted({ doc, path }: Addition, table: Table, inner: Json): boolean {
  const isPlain = !isMap(inner) && !(Array.isArray(inner) && inner.some(isMap))
  if (isPlain) return false
  if (table === doc.root || path.length <= 2) return true
  const members = [...table.members.values()]
  return (
    members.length === 0 ||
    members.some(
      (member) => member.type === 'tables' || (member.type === 'table' && member.how.by !== 'dotted'),
    )
  )
}

function addDotted({ doc, eol }: Addition, names: string[], value: Json, last: Pair): Splice {
  const { home } = last
  if (isInline(home)) return addInlinePair(home, pairText(names, value, ' = '))
  const { end } = pairLines(doc.text, last)
  return insert(end, `${pairIndent(doc, home)}${pairText(names, value, equalsOf(doc, home))}${eol}`)
}

function isInline(home: Block | InlineTable): home is InlineTable {
  return 'kind' in home
}

function blockLine({ doc, eol }: Addition, block: Block, line: string): Splice {
  const last = block.pairs.at(-1)?.value.end ?? block.header?.end ?? 0
  return insert(lineEnd(doc.text, last), `${pairIndent(doc, block)}${line}${eol}`)
}

/** Pairs at the top stand before the first table, with an empty line behind the last of them. */
function topLine(add: Addition, top: Block, line: string): Splice {
  const { doc, eol } = add
  const header = doc.blocks[1]?.header
  if (top.pairs.length > 0) return blockLine(add, top, line)
  if (header === undefined) return insert(endOfContent(doc.text), `${line}${eol}`)
  return insert(aboveComments(doc.text, lineStart(doc.text, header.start)), `${line}${eol}${eol}`)
}

/** A `[table]` or, for an item of a list, a `[[table]]` that is called as the first `length` steps say. */
function newBlock(
  { doc, eol, container, path }: Addition,
  isArray: boolean,
  fields: JsonMap,
  length: number,
): Splice {
  const names = path.slice(0, length).filter((step) => typeof step === 'string')
  const family = container.type === 'item' || container.type === 'pair' ? [] : familyOf(container)
  const near = container === doc.root ? doc.blocks.at(-1) : family.at(-1)
  const at = container === doc.root ? endOfContent(doc.text) : endOfFamily(doc, family)
  return insert(at, blockText(doc, eol, { names, isArray, fields, near, at }))
}

function elementFields(steps: Path, value: Json): JsonMap {
  const [step, ...rest] = steps
  const inner = wrapped(rest, value)
  const fields = typeof step === 'object' && 'field' in step ? withField(step, inner) : inner
  return isMap(fields) ? fields : {}
}

function asList(json: Json): readonly Json[] {
  return Array.isArray(json) ? json : []
}

function insert(at: number, text: string): Splice {
  return { start: at, end: at, text }
}
