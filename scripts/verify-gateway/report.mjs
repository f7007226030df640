// What was found, as rows for docs/gateway-checked.json and as a table to read.

/** What to say of a list that lacks something; null for one that is whole. */
export function lackOf(offered, seen) {
  const lost = offered.filter((name) => !seen.includes(name))
  return lost.length === 0 ? null : `it does not see ${lost.length} of ${offered.length} tools, as ${lost[0]}`
}

/** `heard` is what came over the wire, in the client's own words. */
export function rowOf(client, version, trial, found, failures) {
  const { connected = false, called = false, tools = [], heard, remark } = found ?? {}
  const asked = heard?.methods ?? []
  return {
    client,
    version,
    how: trial.remark,
    revisions: heard?.revisions ?? [],
    connected,
    called,
    tools: tools.length,
    client_info: heard?.client ?? null,
    user_agent: heard?.user_agent ?? null,
    asked,
    oauth_probes: heard?.probes ?? 0,
    refused: heard?.refused ?? [],
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

function remarkOf({ how, called, asked, remark }) {
  const only = asked.includes('tools/list') ? [] : [`asks only ${asked.join(', ')}`]
  return [how, ...(called ? ['called a tool'] : []), ...only, ...(remark ? [remark] : [])].join('; ')
}
