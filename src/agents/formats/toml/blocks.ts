import { blockLines, isBlankLine, isCommentLine, isDense, lineEnd } from './lines.ts'
import type { Block, Table, Tables, TomlDoc } from './model.ts'
import { bodyStart } from './scan/cursor.ts'
import { equalsOf, headerIndent, pairIndent, pairText } from './style.ts'
import type { JsonMap } from './to-json.ts'
import { namesText } from './write-value.ts'

interface NewBlock {
  readonly names: readonly string[]
  readonly isArray: boolean
  readonly fields: JsonMap
  /** Its neighbour, whose style it takes. */
  readonly near: Block | undefined
  readonly at: number
}

/** The lines of a new table, with the empty line that parts it from what stands above. */
export function blockText(doc: TomlDoc, eol: string, block: NewBlock): string {
  const { names, isArray, fields, near, at } = block
  const gap = at === bodyStart(doc.text) || isDense(doc) ? '' : eol
  const header = isArray ? `[[${namesText(names)}]]` : `[${namesText(names)}]`
  // The pairs at the top of the file say nothing about those of a table.
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

/** Behind the last table of the family, and behind comments at its end that do not lead to the next table. */
export function endOfFamily({ text }: TomlDoc, family: readonly Block[]): number {
  const last = family.at(-1)
  if (last === undefined) return text.length
  const { end } = blockLines(text, last)
  let behind = end
  while (behind < text.length && isCommentLine(text, behind)) behind = lineEnd(text, behind)
  return behind === text.length || isBlankLine(text, behind) ? behind : end
}
