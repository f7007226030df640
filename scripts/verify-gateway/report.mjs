// The results as rows for docs/gateway-checked.json and as a printed table.
import { alignedTable } from '../lib.mjs'

/** A message about missing tools, or null for a complete list. */
export function missingTools(offered, seen) {
  const lost = offered.filter((name) => !seen.includes(name))
  return lost.length === 0
    ? null
    : `${lost.length} of ${offered.length} tools are missing, such as ${lost[0]}`
}

/** `traffic` is the summary of the recorded requests. */
export function rowOf(client, version, trial, found, failures) {
  const { connected = false, called = false, tools = [], traffic, remark } = found ?? {}
  const asked = traffic?.methods ?? []
  return {
    client,
    version,
    how: trial.remark,
    revisions: traffic?.revisions ?? [],
    connected,
    called,
    tools: tools.length,
    client_info: traffic?.client ?? null,
    user_agent: traffic?.user_agent ?? null,
    asked,
    oauth_probes: traffic?.probes ?? 0,
    refused: traffic?.refused ?? [],
    remark: remark ?? null,
    failures,
  }
}

const HEAD = ['client', 'version', 'revision', 'connected', 'tools', 'remark']

export function table(rows) {
  const lines = rows.map((row) => [
    row.client,
    row.version ?? '-',
    row.revisions.join(', ') || '-',
    row.connected ? 'yes' : 'no',
    row.tools > 0 ? String(row.tools) : '-',
    row.failures.length > 0 ? `FAILED: ${row.failures.join('; ')}` : remarkOf(row),
  ])
  return alignedTable([HEAD, ...lines])
}

function remarkOf({ how, called, asked, remark }) {
  const only = asked.includes('tools/list') ? [] : [`sends only ${asked.join(', ')}`]
  return [how, ...(called ? ['called a tool'] : []), ...only, ...(remark ? [remark] : [])].join('; ')
}
