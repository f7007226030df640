// Finds the isolation that one server needs with trials, keeps them, and runs it behind them.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const MAX_TRIALS = 6
const MAX_TEXT = 160
const MAX_LOST_FILES = 5

/**
 * `request` asks the REST API of a Toolroom whose home is `home`. `context` is what the functions of the server get.
 * The server is added from its installed package, and deleted at the end.
 * @returns what it needed, the calls, what was refused first, files that are lost, and what does not hold in `failures`
 */
export async function tryServer(request, home, server, context = {}) {
  const folder = join(home, 'projects', server.name)
  const given = { folder, ...context }
  const calls = server.calls(given)
  const definition = {
    name: server.name,
    package: server.package,
    ...(server.bin && { command: server.bin }),
    args: server.args?.(given) ?? [],
    env: server.env?.(given) ?? {},
    start_mode: 'manual',
  }
  const { id } = await request('POST', 'servers', definition)
  const shown = (text) => text.replaceAll(home, '~')
  const trial = async (confinement) => {
    addServers(folder, server.files)
    return request('POST', `servers/${id}/trial`, { ...confinement, calls })
  }
  try {
    const free = await trial({ isolation: 'none' })
    const { confinement, refused, last } = await widenUntilOpen(trial)
    const lost = last.lost_files.filter((file) => file.startsWith(`${shown(folder)}/`))
    const { write, read, network } = confinement
    const isolation_options = { write, read, network }
    await request('PATCH', `servers/${id}`, { isolation: 'sandbox', isolation_options })
    addServers(folder, server.files)
    const { status, place } = await request('POST', `servers/${id}/start`)
    const { items } = await request('GET', `servers/${id}/tools`)
    const stopped = await request('POST', `servers/${id}/stop`)
    const failures = [
      ...(free.ok ? [] : [`it does not start without isolation: ${shown(free.error.message)}`]),
      ...(last.ok ? [] : [`it does not start in isolation: ${shown(last.error.message)}`]),
      ...last.refused.map(({ evidence }) => `still refused: ${shown(evidence)}`),
      ...(place === 'sandbox' && status === 'running' ? [] : [`it is ${status} (${place}) after its start`]),
      ...(namesOf(items) === namesOf(free.tools) ? [] : ['its tools differ from those without isolation']),
      ...lost.map((file) => `${file} is lost at the end`),
      ...(stopped.status === 'stopped' ? [] : [`it is ${stopped.status} after its stop`]),
    ]
    const outcomes = calls.map(({ tool }, at) => outcomeOf(tool, last.calls[at], free.calls[at], shown))
    for (const { tool, isolated, not_isolated } of outcomes)
      if (isolated !== not_isolated)
        failures.push(`${tool}: ${isolated}, but ${not_isolated} without isolation`)
    return {
      tools: items.length,
      ...isolation_options,
      calls: outcomes,
      refused: refused.map(({ kind, path, evidence }) => ({
        kind,
        path: path === null ? null : shown(path),
        evidence: shown(evidence).slice(0, MAX_TEXT),
      })),
      lost_files: last.lost_files.slice(0, MAX_LOST_FILES),
      failures,
    }
  } finally {
    await request('DELETE', `servers/${id}`)
  }
}

/** Begins with no grants and follows the suggestions, until a trial suggests nothing new. */
async function widenUntilOpen(trial) {
  let confinement = { write: [], read: [], network: 'none' }
  const refused = []
  for (let count = 1; ; count += 1) {
    const last = await trial({ isolation: 'sandbox', isolation_options: confinement })
    refused.push(...last.refused)
    const { write, read, network } = last.suggested_options
    const wider = { write, read, network }
    if (JSON.stringify(wider) === JSON.stringify(confinement) || count === MAX_TRIALS)
      return { confinement, refused, last }
    confinement = wider
  }
}

function outcomeOf(tool, behind, without, shown) {
  const text = behind && resultOf(behind) !== 'ok' ? { text: shown(behind.text).slice(0, MAX_TEXT) } : {}
  return { tool, isolated: resultOf(behind), not_isolated: resultOf(without), ...text }
}

/** Some servers return an error of the network as a result. */
const resultOf = (call) => {
  if (call === undefined) return 'not called'
  if (NO_INTERNET.test(call.text)) return 'no internet'
  return call.ok ? 'ok' : 'failed'
}
const NO_INTERNET =
  /EAI_AGAIN|ENOTFOUND|ENETUNREACH|fetch failed|DNS temporarily unavailable|Hostname not found|ERR_NAME_NOT_RESOLVED/

const namesOf = (tools) =>
  tools
    .map(({ name }) => name)
    .sort()
    .join('\n')

/** The same files before each trial. */
function addServers(folder, files = {}) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  // Root starts sandboxed servers as another user.
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'nobody', folder])
}
