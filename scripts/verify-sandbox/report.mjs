// The results as a printed table.
import { alignedTable } from '../lib.mjs'

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
          row.calls.map(({ tool, isolated }) => `${tool}: ${isolated}`).join(', '),
        ],
  )
  return alignedTable([HEAD, ...lines])
}
