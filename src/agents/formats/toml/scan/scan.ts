import { refusal } from '../../text.ts'
import type { Block, Header, Table, TomlDoc } from '../model.ts'
import { type Cursor, skipLines, skipRestOfLine } from './cursor.ts'
import { defineBlock, definePair, newTable } from './tables.ts'
import { scanNames, scanPair } from './values.ts'

/** Parses TOML 1.0 with the positions of everything in it. Throws for what TOML 1.0 forbids. */
export function scanToml(text: string): TomlDoc {
  const cursor: Cursor = { text, at: 0 }
  let block: Block = { header: undefined, pairs: [] }
  const blocks = [block]
  const root = newTable({ by: 'block', block })
  let table: Table = root
  for (skipLines(cursor); cursor.at < text.length; skipLines(cursor)) {
    if (text[cursor.at] === '[') {
      const header = scanHeader(cursor)
      block = { header, pairs: [] }
      blocks.push(block)
      table = defineBlock(text, root, block, header)
    } else {
      const pair = scanPair(cursor, block, 1)
      definePair(text, table, pair)
      block.pairs.push(pair)
    }
    skipRestOfLine(cursor)
  }
  return { text, root, blocks }
}

function scanHeader(cursor: Cursor): Header {
  const { text, at: start } = cursor
  const isArray = text[start + 1] === '['
  cursor.at += isArray ? 2 : 1
  const { names } = scanNames(cursor)
  const close = isArray ? ']]' : ']'
  if (!text.startsWith(close, cursor.at)) {
    throw refusal(text, cursor.at, `Expected '${close}' after a table name`)
  }
  cursor.at += close.length
  return { names, isArray, start, end: cursor.at }
}
