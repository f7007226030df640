import { type CST, isScalar, type ParsedNode } from 'yaml'
import type { Json } from '../format.ts'
import {
  behindLine,
  columnOf,
  deleteLines,
  eolOf,
  insertLines,
  lineEnd,
  lineStart,
  refuse,
  type Splice,
} from './lines.ts'
import type { Parsed } from './parse.ts'
import type { Level } from './path.ts'
import { flowText, indented, isInline, type Style, scalarText, valueLines } from './render.ts'
import { endOf, indentsIn, isBlock, isFlow, startOf } from './tree.ts'

/** Puts another value in the place of the one that is there. The name and the comments beside it stay. */
export function replace({ text, root }: Parsed, level: Level, value: Json): Splice[] {
  const { node } = level
  const style = { unit: 2, list: 2, ...indentsIn(text, root ?? null), ...indentsIn(text, node ?? null) }
  if (level.isInFlow || (node && isFlow(node) && level.items.length > 0)) return flow(text, level, value)
  if (level.item?.key === undefined) return item(text, level, value, style)
  return isInline(value) ? inline(text, level, value) : block(text, level, value, style)
}

function flow(text: string, { node, item }: Level, value: Json): Splice[] {
  const quoted = text[item?.start ?? 0] === '"'
  if (node) return [{ from: node.range[0], to: endOf(node), text: flowText(value, quoted) }]
  const { after } = item ?? {}
  if (after === undefined) return refuse(text, item?.start ?? 0, 'Write a colon and null behind this name')
  return [{ from: after, to: after, text: ` ${flowText(value, quoted)}` }]
}

/** A whole item of a list by indentation. */
function item(text: string, { node }: Level, value: Json, style: Style): Splice[] {
  if (!node || !isBlock(node)) return refuse(text, node?.range[0] ?? 0, 'This item cannot be replaced')
  const from = startOf(text, node)
  const [first = '', ...rest] = valueLines(value, style)
  const lines = [first, ...indented(rest, columnOf(text, from))]
  return [{ from, to: blockEnd(text, node), text: lines.join(eolOf(text)) }]
}

/** A value that stands on the line of its name. */
function inline(text: string, { node, item }: Level, value: Json): Splice[] {
  const after = item?.after ?? 0
  const added = scalarText(value)
  if (!node) return [{ from: after, to: after, text: ` ${added}` }]
  if (isBlock(node)) return [{ from: after, to: after, text: ` ${added}` }, linesOf(text, node)]
  if (!isBlockScalar(node)) return [{ from: node.range[0], to: endOf(node), text: added }]
  const header = headerOf(node)
  const body = deleteLines(text, behindLine(text, lineEnd(text, header.to)), endOf(node))
  return [{ ...header, text: added }, body]
}

/** A map or list on the lines below its name. */
function block(text: string, { node, item, column }: Level, value: Json, style: Style): Splice[] {
  const after = item?.after ?? 0
  const by = column + (Array.isArray(value) ? style.list : style.unit)
  const lines = indented(valueLines(value, style), by)
  if (!node) return [insertLines(text, behindLine(text, after), lines)]
  if (isBlock(node)) {
    const from = lineStart(text, startOf(text, node))
    return [{ from, to: blockEnd(text, node), text: lines.join(eolOf(text)) }]
  }
  if (isBlockScalar(node)) return instead(text, node, lines)
  if (text.slice(after, node.range[0]).trim() !== '') {
    refuse(text, after, 'A comment stands between this name and its value; move it away first')
  }
  const end = endOf(node)
  return [{ from: after, to: end, text: '' }, insertLines(text, behindLine(text, end), lines)]
}

/** The header line of `|` or `>` may have a comment, which stays. */
function instead(text: string, node: ParsedNode, lines: readonly string[]): Splice[] {
  const header = headerOf(node)
  const from = behindLine(text, lineEnd(text, header.to))
  const end = endOf(node)
  const eol = text[end - 1] === '\n' ? eolOf(text) : ''
  return [
    { ...header, text: '' },
    { from, to: end, text: lines.join(eolOf(text)) + eol },
  ]
}

function isBlockScalar(node: ParsedNode): boolean {
  return isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED')
}

function headerOf(node: ParsedNode): { from: number; to: number } {
  const token = node.srcToken as CST.BlockScalar
  const header = token.props.find(({ type }) => type === 'block-scalar-header') as CST.SourceToken
  return { from: header.offset, to: header.offset + header.source.length }
}

function linesOf(text: string, node: ParsedNode): Splice {
  return deleteLines(text, lineStart(text, startOf(text, node)), behindLine(text, endOf(node)))
}

/** The end of the last line of a block, without the line end. */
function blockEnd(text: string, node: ParsedNode): number {
  const end = endOf(node)
  return text[end - 1] === '\n' ? end - (text[end - 2] === '\r' ? 2 : 1) : lineEnd(text, end)
}
