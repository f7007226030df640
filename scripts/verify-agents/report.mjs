// The results as text, for the printed table and for docs/agents-checked.json.

export function reportOf(agent, version, alone, beside) {
  const saw = beside.saw.map(({ name, state }) => `${name}: ${state}`)
  const failures = [
    ...alone.failures.map((text) => `with an empty home directory, ${text}`),
    ...beside.failures.map((text) => `with existing entries, ${text}`),
  ]
  return { agent: agent.type, version, saw, facts: factsOf(agent, alone, beside), failures }
}

function factsOf(agent, alone, beside) {
  const facts = []
  const isConnected = (name) => [alone, beside].every(({ saw }) => stateIn(saw, name) === 'connected')
  if (!agent.connects) facts.push('Its list command reads the file and starts no server')
  else if (ARRIVED.every(isConnected)) {
    facts.push('It connected to the servers with the right arguments, variables, URLs and headers')
  }
  if (agent.offByProject && stateIn(beside.saw, 'toolroom-off') === 'disabled') {
    facts.push('Disabled for one project; without a project the entry is removed')
  }
  const rewritten = [...new Set([...alone.rewritten, ...beside.rewritten])]
  if (rewritten.length > 0)
    facts.push(`It rewrites ${rewritten.map((path) => `~/${path}`).join(', ')} itself`)
  if (beside.failures.length === 0) {
    const others = agent.strict ? 'Other entries' : 'Other entries and comments'
    facts.push(`${others} were preserved; after the removal the file was byte-identical`)
  }
  return facts
}

/** One server each for arguments, variables, and URL with headers: each connects only if they are right. */
const ARRIVED = ['toolroom-echo', 'toolroom-env', 'toolroom-live']

function stateIn(saw, wanted) {
  return saw.find(({ name }) => name === wanted)?.state
}

export function table(reports) {
  const rows = reports.flatMap(({ agent, version, saw, failures }) => {
    const lines = [...saw, ...failures.map((text) => `FAILED ${text}`)]
    return lines.map((line, index) => (index === 0 ? [agent, version ?? '-', line] : ['', '', line]))
  })
  const all = [['agent', 'version', 'saw'], ...rows]
  const widths = [0, 1].map((column) => Math.max(...all.map((row) => row[column].length)))
  return all
    .map(([agent, version, text]) => `${agent.padEnd(widths[0])}  ${version.padEnd(widths[1])}  ${text}`)
    .join('\n')
}
