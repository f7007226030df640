import { lineIndent } from '../text-edits.ts'
import type { Block, Pair, TomlDoc } from './toml-model.ts'

export function equalsOf(doc: TomlDoc, near: Block | undefined): string {
  const pair = near?.pairs.at(-1) ?? doc.blocks.findLast(({ pairs }) => pairs.length > 0)?.pairs.at(-1)
  return pair !== undefined && doc.text.slice(pair.nameEnd, pair.value.start) === '=' ? '=' : ' = '
}

export function headerIndent({ text }: TomlDoc, block: Block | undefined): string {
  return block?.header === undefined ? '' : lineIndent(text, block.header.start)
}

/** The indentation of the pairs of this block; taken from another block if it has none. */
export function pairIndent(doc: TomlDoc, block: Block | undefined): string {
  const last = block?.pairs.at(-1)
  if (last !== undefined) return indentOf(doc, last)
  const base = headerIndent(doc, block)
  if (block !== undefined && block.header === undefined) return base
  const other = doc.blocks.find(({ header, pairs }) => header !== undefined && pairs.length > 0)
  const pair = other?.pairs[0]
  if (other === undefined || pair === undefined) return base
  const otherBase = headerIndent(doc, other)
  const indent = indentOf(doc, pair)
  return indent.startsWith(otherBase) ? base + indent.slice(otherBase.length) : base
}

function indentOf({ text }: TomlDoc, pair: Pair): string {
  return lineIndent(text, pair.start)
}

/** One level of indentation in this file, for the lines of a list. */
export function indentUnit({ text }: TomlDoc): string {
  return /^([ \t]+)\S/m.exec(text)?.[1]?.replace(/^\t.*$/, '\t') ?? '  '
}
