import type { Json, Path } from '../format.ts'
import { isList, isMap, itemOf, type JsonMap, wrapped } from '../json-value.ts'
import { insertion, lineStart, nextLine, type Splice } from '../text.ts'
import { blockText, endOfFamily, familyOf } from './blocks.ts'
import { addInlinePair } from './inline-tables.ts'
import { aboveComments, endOfContent, pairLines } from './lines.ts'
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
import { valueText } from './write-value.ts'

/** A value that does not exist yet. `path[depth]` is the first missing step, in `container`. */
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
    const items = wrapped(path.slice(depth), value)
    const [item = ''] = isList(items) ? items : []
    return addItem(doc, eol, list, valueText(item))
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
  if (needsBlock(add, table, inner)) {
    if (typeof step === 'object' && 'field' in step) {
      return [newBlock(add, true, elementFields(path.slice(listAt), value), listAt)]
    }
    const end = listAt === -1 ? path.length : listAt
    const content = listAt === -1 ? value : wrapped(path.slice(listAt), value)
    if (isMap(content)) return [newBlock(add, false, content, end)]
    if (end > depth + 1) return [newBlock(add, false, { [String(path[end - 1])]: content }, end - 1)]
  }
  if (how.by === 'implied') return [newBlock(add, false, { [name]: inner }, depth)]
  const line = (near: Block) => pairText([name], inner, equalsOf(doc, near))
  return [
    table === doc.root
      ? topLine(add, how.block, line(how.block))
      : blockLine(add, how.block, line(how.block)),
  ]
}

/**
 * An entry gets a table of its own, as agents write it. A map inside an entry becomes an inline table, unless the file
 * already has tables there.
 */
function needsBlock({ doc, path }: Addition, table: Table, inner: Json): boolean {
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
  return insertion(end, `${pairIndent(doc, home)}${pairText(names, value, equalsOf(doc, home))}${eol}`)
}

function isInline(home: Block | InlineTable): home is InlineTable {
  return 'kind' in home
}

function blockLine({ doc, eol }: Addition, block: Block, line: string): Splice {
  const last = block.pairs.at(-1)?.value.end ?? block.header?.end ?? 0
  return insertion(nextLine(doc.text, last), `${pairIndent(doc, block)}${line}${eol}`)
}

/** Pairs at the top precede the first table, with an empty line after the last of them. */
function topLine(add: Addition, top: Block, line: string): Splice {
  const { doc, eol } = add
  const header = doc.blocks[1]?.header
  if (top.pairs.length > 0) return blockLine(add, top, line)
  if (header === undefined) return insertion(endOfContent(doc.text), `${line}${eol}`)
  return insertion(aboveComments(doc.text, lineStart(doc.text, header.start)), `${line}${eol}${eol}`)
}

/** A `[table]`, or a `[[table]]` for a list item, named by the first `length` steps. */
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
  return insertion(at, blockText(doc, eol, { names, isArray, fields, near, at }))
}

function elementFields(steps: Path, value: Json): JsonMap {
  const [step, ...rest] = steps
  const inner = wrapped(rest, value)
  const fields = typeof step === 'object' && 'field' in step ? itemOf(step, inner) : inner
  return isMap(fields) ? fields : {}
}
