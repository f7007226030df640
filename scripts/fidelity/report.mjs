// What a comparison found, as text.
import { ALLOWED, explain } from './exceptions.mjs'

const MAX_TEXT = 160

/** A row of the table, and the differences that no entry explains. */
export function judge({ name, version }, { comparisons, differences, eras }) {
  const explained = differences.map((difference) => ({ difference, entry: explain(difference) }))
  const isAllowed = ({ entry }) => ALLOWED.includes(entry)
  return {
    server: name,
    version,
    eras: eras.join(' + '),
    comparisons,
    differences: explained.filter((each) => !isAllowed(each)).length,
    allowed: explained.filter(isAllowed).length,
    entries: explained.flatMap(({ entry }) => entry ?? []),
    unexplained: explained.flatMap(({ difference, entry }) => (entry ? [] : [difference])),
  }
}

/** The entries that explain nothing any more. */
export function stale(rows) {
  const used = new Set(rows.flatMap(({ entries }) => entries))
  return ALLOWED.filter((entry) => !used.has(entry))
}

export function sentence(difference) {
  const { server, client, profile, via, era, isTranslated, probe, path, kind, direct, gateway } = difference
  const place = via === 'all' ? '/mcp' : '/mcp/{server_id}'
  const how = `${client}, ${profile}, ${era}${isTranslated ? ' of a server of the other era' : ''}`
  return `${server} at ${place} (${how}): ${probe}${path}: ${kind}: ${short(direct)} → ${short(gateway)}`
}

const short = (text = 'absent') => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)

export function table(rows) {
  const columns = ['server', 'version', 'eras', 'comparisons', 'differences', 'allowed']
  const sum = (column) => rows.reduce((total, row) => total + row[column], 0)
  const total = {
    server: 'all',
    version: '',
    eras: '',
    ...Object.fromEntries(columns.slice(3).map((each) => [each, sum(each)])),
  }
  const cells = [columns, ...[...rows, total].map((row) => columns.map((column) => String(row[column])))]
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at].length)))
  return cells
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** How often each entry was needed. */
export function counts(rows) {
  const entries = rows.flatMap((row) => row.entries)
  return ALLOWED.map((entry) => {
    const count = entries.filter((each) => each === entry).length
    return `${String(count).padStart(6)}  ${entry.what}`
  })
}
