import { type CST, isCollection, isMap, type ParsedNode } from 'yaml'
import { refusal } from '../text.ts'
import { columnOf } from './lines.ts'

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
