import {
  isList,
  isMap,
  itemOf,
  type Json,
  type JsonMap,
  type Path,
  wrapped,
} from '../../catalogue/json-value.ts'
import { insertion, lineStart, nextLine, type Splice } from '../text-edits.ts'
import { addInlinePair, addItem } from './toml-inline.ts'
import {
  aboveComments,
  blockLines,
  endOfContent,
  isBlankLine,
  isCommentLine,
  isDense,
  pairLines,
} from './toml-lines.ts'
import {
  type Block,
  type InlineTable,
  lastOf,
  listOf,
  type Pair,
  type Table,
  type Tables,
  type Target,
  type TomlDoc,
  tableOf,
} from './toml-model.ts'
import { equalsOf, headerIndent, pairIndent } from './toml-style.ts'
import { namesText, pairText, valueText } from './toml-text.ts'

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

interface NewBlock {
  readonly names: readonly string[]
  readonly isArray: boolean
  readonly fields: JsonMap
  /** The neighbour whose style is used. */
  readonly near: Block | undefined
  readonly at: number
}

/** The lines of a new table, with the empty line that separates it from the text above. */
function blockText(doc: TomlDoc, eol: string, block: NewBlock): string {
  const { names, isArray, fields, near, at } = block
  const gap = at === 0 || isDense(doc) ? '' : eol
  const header = isArray ? `[[${namesText(names)}]]` : `[${namesText(names)}]`
  // The indentation of pairs at the top of the file does not apply to tables.
  const model = near?.header === undefined ? undefined : near
  const equals = equalsOf(doc, near)
  const indent = pairIndent(doc, model)
  const pairs = Object.entries(fields).map(([name, value]) => indent + pairText([name], value, equals) + eol)
  return `${gap}${headerIndent(doc, model)}${header}${eol}${pairs.join('')}`
}

/** Every block that defines the table or something in it, in the order of the file. */
function familyOf(member: Table | Tables): Block[] {
  const blocks: Block[] = []
  collect(member, blocks)
  return blocks.sort((a, b) => (a.header?.start ?? 0) - (b.header?.start ?? 0))
}

function collect(member: Table | Tables, blocks: Block[]): void {
  if (member.type === 'tables') {
    for (const item of member.items) collect(item, blocks)
    return
  }
  if (member.how.by === 'block') blocks.push(member.how.block)
  for (const inner of member.members.values()) {
    if (inner.type !== 'pair') collect(inner, blocks)
  }
}

/** After the last table of the family, and after comments at its end that do not belong to the next table. */
function endOfFamily({ text }: TomlDoc, family: readonly Block[]): number {
  const last = family.at(-1)
  if (last === undefined) return text.length
  const { end } = blockLines(text, last)
  let after = end
  while (after < text.length && isCommentLine(text, after)) after = nextLine(text, after)
  return after === text.length || isBlankLine(text, after) ? after : end
}
