// The results as a printed table.

const HEAD = ['server', 'version', 'tools', 'write', 'read', 'network', 'calls']

export function table(rows) {
  const lines = rows.map((row) =>
    row.failures.length > 0
      ? [row.server, row.version ?? '-', '', '', '', '', `FAILED: ${row.failures.join('; ')}`]
      : [
          row.server,
          row.version,
          String(row.tools),
          row.write.join(' ') || '-',
          row.read.join(' ') || '-',
          row.network,
          row.calls.map(({ tool, behind_walls }) => `${tool}: ${behind_walls}`).join(', '),
        ],
  )
  const all = [HEAD, ...lines]
  const widths = HEAD.slice(0, -1).map((_, column) => Math.max(...all.map((line) => line[column].length)))
  return all
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
