// What was found, in words for the table and for docs/agents-checked.json.

export function reportOf(agent, version, alone, beside) {
  const saw = beside.saw.map(({ name, state }) => `${name}: ${state}`)
  const failures = [
    ...alone.failures.map((text) => `in an empty home, ${text}`),
    ...beside.failures.map((text) => `beside other entries, ${text}`),
  ]
  return { agent: agent.type, version, saw, facts: factsOf(agent, alone, beside), failures }
}

function factsOf(agent, alone, beside) {
  const facts = []
  const isConnected = (name) => [alone, beside].every(({ saw }) => stateIn(saw, name) === 'connected')
  if (!agent.connects) facts.push('It reads its file and starts no server when it is asked')
  else if (ARRIVED.every(isConnected)) {
    facts.push('It started the servers: arguments, variables, addresses and headers arrived')
  }
  if (agent.offByProject && stateIn(beside.saw, 'toolroom-off') === 'disabled') {
    facts.push('Switched off for one project; without a project the entry is taken out')
  }
  const rewritten = [...new Set([...alone.rewritten, ...beside.rewritten])]
  if (rewritten.length > 0)
    facts.push(`It writes ${rewritten.map((path) => `~/${path}`).join(', ')} by itself`)
  if (beside.failures.length === 0) {
    const foreign = agent.strict ? 'Entries of others stayed' : 'Entries of others and comments stayed'
    facts.push(`${foreign}; after the removal the bytes were those of before`)
  }
  return facts
}

/** One server each for arguments, variables, and address with headers: it connects when they are right. */
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
