import type { JsonMap } from '../json-value.ts'
import { nextLine } from '../text.ts'
import { blockLines, isBlankLine, isCommentLine, isDense } from './lines.ts'
import type { Block, Table, Tables, TomlDoc } from './model.ts'
import { equalsOf, headerIndent, pairIndent, pairText } from './style.ts'
import { namesText } from './write-value.ts'

interface NewBlock {
  readonly names: readonly string[]
  readonly isArray: boolean
  readonly fields: JsonMap
  /** The neighbour whose style is used. */
  readonly near: Block | undefined
  readonly at: number
}

/** The lines of a new table, with the empty line that separates it from the text above. */
export function blockText(doc: TomlDoc, eol: string, block: NewBlock): string {
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
export function familyOf(member: Table | Tables): Block[] {
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
export function endOfFamily({ text }: TomlDoc, family: readonly Block[]): number {
  const last = family.at(-1)
  if (last === undefined) return text.length
  const { end } = blockLines(text, last)
  let after = end
  while (after < text.length && isCommentLine(text, after)) after = nextLine(text, after)
  return after === text.length || isBlankLine(text, after) ? after : end
}
