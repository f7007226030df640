import { refusal } from '../../text.ts'
import type { Block, Header, Pair, Table, TableHow } from '../model.ts'

/** The rules of TOML 1.0 about where tables and keys may be defined. */

export function newTable(how: TableHow): Table {
  return { type: 'table', how, members: new Map() }
}

/** `a.b.c = 1` defines `a` and `a.b` as dotted tables. Only the same block may add to them. */
export function definePair(text: string, table: Table, pair: Pair): void {
  let within = table
  pair.names.slice(0, -1).forEach((name, index) => {
    within = dottedTable(text, within, name, pair, index)
  })
  const name = lastOf(pair.names)
  if (within.members.has(name)) throw duplicate(text, pair.start, pair.names)
  within.members.set(name, pair)
}

function dottedTable(text: string, within: Table, name: string, pair: Pair, index: number): Table {
  const found = within.members.get(name)
  if (found === undefined) {
    const made = newTable({ by: 'dotted', names: pair.names.slice(0, index + 1), pairs: [pair] })
    within.members.set(name, made)
    return made
  }
  if (found.type !== 'table' || found.how.by !== 'dotted') throw duplicate(text, pair.start, pair.names)
  found.how.pairs.push(pair)
  return found
}

/** `[a.b]` or `[[a.b]]`. Returns the table that the pairs of the block belong to. */
export function defineBlock(text: string, root: Table, block: Block, header: Header): Table {
  const within = header.names
    .slice(0, -1)
    .reduce((table, name) => tableOnPath(text, table, name, header), root)
  const name = lastOf(header.names)
  const found = within.members.get(name)
  if (header.isArray) {
    const table = newTable({ by: 'block', block })
    if (found === undefined) within.members.set(name, { type: 'tables', items: [table] })
    else if (found.type === 'tables') found.items.push(table)
    else throw duplicate(text, header.start, header.names)
    return table
  }
  if (found === undefined) {
    const table = newTable({ by: 'block', block })
    within.members.set(name, table)
    return table
  }
  if (found.type !== 'table' || found.how.by !== 'implied') throw duplicate(text, header.start, header.names)
  found.how = { by: 'block', block }
  return found
}

function tableOnPath(text: string, within: Table, name: string, header: Header): Table {
  const found = within.members.get(name)
  if (found === undefined) {
    const made = newTable({ by: 'implied' })
    within.members.set(name, made)
    return made
  }
  if (found.type === 'table') return found
  const last = found.type === 'tables' ? found.items.at(-1) : undefined
  if (last === undefined) throw duplicate(text, header.start, header.names)
  return last
}

function duplicate(text: string, offset: number, names: readonly string[]): Error {
  return refusal(text, offset, `Duplicate definition of '${names.join('.')}'`)
}

export function lastOf<T>(list: readonly T[]): T {
  const last = list.at(-1)
  if (last === undefined) throw new RangeError('The list is empty')
  return last
}
