import { type CST, isCollection, isMap, type ParsedNode } from 'yaml'
import {
  deletion,
  eolOf,
  insertion,
  lineEnd,
  lineStart,
  nextLine,
  refusal,
  type Splice,
} from '../text-edits.ts'

/** A member of a map or an item of a list, with its positions in the text. */
export interface Item {
  /** Undefined for a list item. */
  readonly key: ParsedNode | undefined
  readonly value: ParsedNode | null
  /** Where the name or the dash begins; for an item between brackets, the value. */
  readonly start: number
  /** After the colon or the dash; undefined if there is neither. */
  readonly after: number | undefined
  /** After the last character of the value; comments do not count. */
  readonly end: number
  /** `? name`, or an anchor or tag before the name. */
  readonly isOdd: boolean
}

export function itemsOf(text: string, node: ParsedNode): Item[] {
  if (!isCollection(node)) return []
  const token = node.srcToken as CST.BlockMap | CST.BlockSequence | CST.FlowCollection
  const tokens = (token.items as CST.CollectionItem[]).filter(isItem)
  if (tokens.length !== node.items.length) {
    throw refusal(text, token.offset, 'An item in this map or list is incomplete')
  }
  const isBlockList = token.type === 'block-seq'
  return tokens.map((item, index) => {
    const member = node.items[index]
    const pair = isMap(node) ? node.items[index] : undefined
    const dash = isBlockList ? item.start.find(({ type }) => type === 'seq-item-ind') : undefined
    const colon = isMap(node) ? item.sep?.find(({ type }) => type === 'map-value-ind') : undefined
    const mark = dash ?? colon
    const odd = item.start.some(({ type }) => ODD.has(type)) || (pair !== undefined && !item.key)
    return {
      key: pair?.key as ParsedNode | undefined,
      value: (pair ? pair.value : member) as ParsedNode | null,
      start: dash?.offset ?? (item.key ?? item.value)?.offset ?? token.offset,
      after: mark && mark.offset + mark.source.length,
      end: itemEnd(item),
      isOdd: odd && !dash,
    }
  })
}

const ODD = new Set(['explicit-key-ind', 'anchor', 'tag'])

/** The parser keeps comments after the last item, or after a trailing comma, as one more item. */
function isItem({ start, key, sep, value }: CST.CollectionItem): boolean {
  return Boolean(key || sep || value) || start.some(({ type }) => type === 'seq-item-ind' || ODD.has(type))
}

function itemEnd({ start, key, sep, value }: CST.CollectionItem): number {
  if (value) return tokenEnd(value)
  return lastEnd(sep) ?? (key ? tokenEnd(key) : undefined) ?? lastEnd(start) ?? 0
}

const BLANK = new Set(['space', 'comment', 'newline', 'comma'])

function lastEnd(tokens: readonly CST.SourceToken[] | undefined): number | undefined {
  const last = tokens?.findLast(({ type }) => !BLANK.has(type))
  return last && last.offset + last.source.length
}

function tokenEnd(token: CST.Token): number {
  switch (token.type) {
    case 'block-map':
    case 'block-seq': {
      const last = (token.items as CST.CollectionItem[]).findLast(isItem)
      return last ? itemEnd(last) : token.offset
    }
    case 'flow-collection':
      return lastEnd(token.end) ?? token.offset
    case 'block-scalar': {
      const header = token.props.at(-1) as CST.SourceToken
      return header.offset + header.source.length + token.source.length
    }
    default:
      return 'source' in token ? token.offset + token.source.length : token.offset
  }
}

/** After the last character of the value. */
export function endOf(node: ParsedNode): number {
  return node.srcToken ? tokenEnd(node.srcToken as CST.Token) : node.range[1]
}

/** Where the value begins: a name, a dash, a bracket, a quote. */
export function startOf(text: string, node: ParsedNode): number {
  return isBlock(node) ? (itemsOf(text, node)[0]?.start ?? node.range[0]) : node.range[0]
}

/** A map or list without brackets. */
export function isBlock(node: ParsedNode): boolean {
  return isCollection(node) && !isFlow(node)
}

/** A map or list in brackets. */
export function isFlow(node: ParsedNode): boolean {
  return isCollection(node) && (node.srcToken as CST.Token | undefined)?.type === 'flow-collection'
}

/** How the first nested map and the first nested list are indented, in this value. */
export function indentsIn(text: string, node: ParsedNode | null): { unit?: number; list?: number } {
  const found: { unit?: number; list?: number } = {}
  const open: ParsedNode[] = node ? [node] : []
  for (let seen = 0; open.length > 0 && seen < 5_000; seen += 1) {
    const map = open.shift() as ParsedNode
    if (!isBlock(map)) continue
    const items = itemsOf(text, map).slice(0, 200)
    for (const { key, value, start } of items) {
      if (!value || !isBlock(value)) continue
      open.push(value)
      if (!key) continue
      const by = columnOf(text, startOf(text, value)) - columnOf(text, start)
      // An anchor can put a value to the left of its name.
      if (by < 0) continue
      if (isMap(value)) found.unit ??= by
      else found.list ??= by
    }
    if (found.unit !== undefined && found.list !== undefined) break
  }
  return found
}

export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset)
}

/** The start of the next line after something that ends here. A block scalar includes its last line end. */
export function afterLine(text: string, end: number): number {
  return end > 0 && text[end - 1] === '\n' ? end : nextLine(text, end)
}

/** After the comment lines that are indented to at least this column, and the blank lines between them. */
export function afterComments(text: string, from: number, column: number): number {
  let end = from
  for (let at = from; at < text.length; at = nextLine(text, at)) {
    const line = text.slice(at, lineEnd(text, at))
    const first = line.search(/[^ \t]/)
    if (first < 0) continue
    if (line[first] !== '#' || first < column) break
    end = nextLine(text, at)
  }
  return end
}

/** Inserts lines. After a last line without a line end, the new last line has none either. */
export function insertLines(text: string, at: number, lines: readonly string[]): Splice {
  const eol = eolOf(text)
  const hangs = at > 0 && text[at - 1] !== '\n'
  const added = lines.join(eol)
  return insertion(at, hangs ? eol + added : added + eol)
}

/** Deletes whole lines. If the text ends without a line end, the new last line has none either. */
export function deleteLines(text: string, start: number, end: number): Splice {
  const hangs = end === text.length && end > start && text[end - 1] !== '\n'
  return deletion(hangs && start > 0 ? lineEnd(text, lineStart(text, start - 1)) : start, end)
}

/** The end of the last line, before its line end. */
export function endOfLastLine(text: string, end: number): number {
  if (text[end - 1] !== '\n') return lineEnd(text, end)
  return end - (text[end - 2] === '\r' ? 2 : 1)
}
