import { type CST, isScalar, type ParsedNode } from 'yaml'
import type { Json } from '../../catalogue/json-value.ts'
import { deletion, eolOf, insertion, lineEnd, lineStart, refusal, type Splice } from '../text-edits.ts'
import type { ParsedYaml } from './yaml-parse.ts'
import type { Level } from './yaml-path.ts'
import { flowText, indented, isInline, type Style, scalarText, valueLines } from './yaml-render.ts'
import {
  afterLine,
  columnOf,
  deleteLines,
  endOf,
  endOfLastLine,
  indentsIn,
  insertLines,
  isBlock,
  isFlow,
  startOf,
} from './yaml-tree.ts'

/** Replaces a value. Its name and the comments beside it stay. */
export function replace({ text, root }: ParsedYaml, level: Level, value: Json): Splice[] {
  const { node } = level
  const style = { unit: 2, list: 2, ...indentsIn(text, root ?? null), ...indentsIn(text, node ?? null) }
  if (level.isInFlow || (node && isFlow(node) && level.items.length > 0)) return flow(text, level, value)
  if (level.item?.key === undefined) return item(text, level, value, style)
  return isInline(value) ? inline(text, level, value) : block(text, level, value, style)
}

function flow(text: string, { node, item }: Level, value: Json): Splice[] {
  const quoted = text[item?.start ?? 0] === '"'
  if (node) return [{ start: node.range[0], end: endOf(node), text: flowText(value, quoted) }]
  const { after } = item ?? {}
  if (after === undefined) throw refusal(text, item?.start ?? 0, 'Write a colon and null after this name')
  return [insertion(after, ` ${flowText(value, quoted)}`)]
}

/** A list item in a block list. */
function item(text: string, { node }: Level, value: Json, style: Style): Splice[] {
  if (!node || !isBlock(node)) throw refusal(text, node?.range[0] ?? 0, 'This list item cannot be replaced')
  const start = startOf(text, node)
  const [first = '', ...rest] = valueLines(value, style)
  const lines = [first, ...indented(rest, columnOf(text, start))]
  return [{ start, end: endOfLastLine(text, endOf(node)), text: lines.join(eolOf(text)) }]
}

/** A value on the line of its name. */
function inline(text: string, { node, item }: Level, value: Json): Splice[] {
  const after = item?.after ?? 0
  const added = scalarText(value)
  if (!node) return [insertion(after, ` ${added}`)]
  if (isBlock(node)) return [insertion(after, ` ${added}`), linesOf(text, node)]
  if (!isBlockScalar(node)) return [{ start: node.range[0], end: endOf(node), text: added }]
  const header = headerOf(node)
  const body = deleteLines(text, afterLine(text, lineEnd(text, header.end)), endOf(node))
  return [{ ...header, text: added }, body]
}

/** A map or list on the lines below its name. */
function block(text: string, { node, item, column }: Level, value: Json, style: Style): Splice[] {
  const after = item?.after ?? 0
  const by = column + (Array.isArray(value) ? style.list : style.unit)
  const lines = indented(valueLines(value, style), by)
  if (!node) return [insertLines(text, afterLine(text, after), lines)]
  if (isBlock(node)) {
    const start = lineStart(text, startOf(text, node))
    return [{ start, end: endOfLastLine(text, endOf(node)), text: lines.join(eolOf(text)) }]
  }
  if (isBlockScalar(node)) return instead(text, node, lines)
  if (text.slice(after, node.range[0]).trim() !== '') {
    throw refusal(text, after, 'Move the comment between this name and its value first')
  }
  const end = endOf(node)
  return [deletion(after, end), insertLines(text, afterLine(text, end), lines)]
}

/** A comment on the header line of `|` or `>` stays. */
function instead(text: string, node: ParsedNode, lines: readonly string[]): Splice[] {
  const header = headerOf(node)
  const start = afterLine(text, lineEnd(text, header.end))
  const end = endOf(node)
  const eol = text[end - 1] === '\n' ? eolOf(text) : ''
  return [
    { ...header, text: '' },
    { start, end, text: lines.join(eolOf(text)) + eol },
  ]
}

function isBlockScalar(node: ParsedNode): boolean {
  return isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED')
}

function headerOf(node: ParsedNode): { start: number; end: number } {
  const token = node.srcToken as CST.BlockScalar
  const header = token.props.find(({ type }) => type === 'block-scalar-header') as CST.SourceToken
  return { start: header.offset, end: header.offset + header.source.length }
}

function linesOf(text: string, node: ParsedNode): Splice {
  return deleteLines(text, lineStart(text, startOf(text, node)), afterLine(text, endOf(node)))
}
