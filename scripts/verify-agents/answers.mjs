// Parses the agents' output into [{ name, state, target }]; state is connected, unreachable, enabled or disabled.

/** `codex mcp list --json`, and the status of the same names from its app server after starting them. */
export function parseCodex([list, appServer]) {
  const line = appServer.stdout.split('\n').find((each) => each.startsWith('{"id":2,'))
  const statuses = JSON.parse(line ?? '{}').result?.data ?? []
  return JSON.parse(list.stdout).map(({ name, enabled, transport }) => {
    const status = statuses.find((each) => each.name === name)
    const target = [transport.command, ...(transport.args ?? []), transport.url].filter(Boolean).join(' ')
    return {
      name,
      target,
      state: enabled ? codexState(status) : 'disabled',
      tools: Object.keys(status?.tools ?? {}),
    }
  })
}

function codexState(status) {
  if (status === undefined) return 'enabled'
  return Object.keys(status.tools).length > 0 ? 'connected' : 'unreachable'
}

/** `✓ name: node echo.mjs (stdio) - Connected`; 0.61 writes its list to stderr. */
export function parseGemini([{ stdout, stderr }]) {
  const lines = `${stdout}\n${stderr}`.matchAll(/^\S (?<name>\S+): (?<target>.*) \(\w+\) - (?<word>.+)$/gm)
  return [...lines].map(({ groups: { name, target, word } }) => ({ name, target, state: stateOf(word) }))
}

/** `●  ✓ name connected`, and below it lines with the reason and the command or the address. */
export function parseOpencode([{ stdout }]) {
  const blocks = stdout.split(/^●/m).slice(1)
  return blocks.flatMap((block) => {
    const found = /^\s+\S\s+(?<name>\S+)\s+(?<word>.+)$/m.exec(block)
    if (!found) return []
    const { name, word } = found.groups
    return [{ name, target: block.replace(/[│\s]+/g, ' '), state: stateOf(word) }]
  })
}

export function parseCopilot([{ stdout }]) {
  return Object.entries(JSON.parse(stdout).mcpServers).map(
    ([name, { command, args = [], url, enabled }]) => ({
      name,
      target: [command, ...args, url].filter(Boolean).join(' '),
      state: enabled ? 'enabled' : 'disabled',
    }),
  )
}

/** `name: node echo.mjs - ✔ Connected` */
export function parseClaude([{ stdout }]) {
  const lines = stdout.matchAll(/^(?<name>\S+): (?<target>.*?) - \S (?<word>.+)$/gm)
  return [...lines].map(({ groups: { name, target, word } }) => ({ name, target, state: stateOf(word) }))
}

function stateOf(word) {
  if (/^disabled/i.test(word)) return 'disabled'
  if (/^connected/i.test(word)) return 'connected'
  if (/^(failed|disconnected)/i.test(word)) return 'unreachable'
  return word.trim() // an unknown word is returned unchanged, and fails every expectation
}
