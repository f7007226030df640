// Finds the walls that one server needs with trials, keeps them, and runs it behind them.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const MAX_TRIALS = 6
const MAX_TEXT = 160
const MAX_HOME_FILES = 5

/**
 * `request` asks the REST API of a Toolroom whose home is `home`. `context` is what the functions of the server get.
 * The server is added from its installed package, and deleted at the end.
 * @returns what it needed, the calls, what was refused first, and what does not hold in `failures`
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
  const trial = async (walls) => {
    furnish(folder, server.files)
    return request('POST', `servers/${id}/trial`, { ...walls, calls })
  }
  try {
    const before = new Set(filesIn(home))
    const free = await trial({ isolation: 'none' })
    const own = `projects/${server.name}/`
    const homeFiles = filesIn(home).filter((file) => !before.has(file) && !file.startsWith(own))
    const made = filesIn(folder)
    const isLost = () => filesIn(folder).length < made.length
    const found = await widenUntilOpen(trial)
    const { walls, refused, last } = isLost() ? await keepFiles(trial, found, folder, made) : found
    const wasLost = isLost()
    const { write, read, network } = walls
    const isolation_options = { write, read, network }
    await request('PATCH', `servers/${id}`, { isolation: 'sandbox', isolation_options })
    furnish(folder, server.files)
    const { status, place } = await request('POST', `servers/${id}/start`)
    const { items } = await request('GET', `servers/${id}/tools`)
    const stopped = await request('POST', `servers/${id}/stop`)
    const failures = [
      ...(free.ok ? [] : [`it does not start without walls: ${shown(free.error.message)}`]),
      ...(last.ok ? [] : [`it does not start behind walls: ${shown(last.error.message)}`]),
      ...last.refused.map(({ evidence }) => `still refused: ${shown(evidence)}`),
      ...(place === 'sandbox' && status === 'running' ? [] : [`it is ${status} (${place}) after its start`]),
      ...(namesOf(items) === namesOf(free.tools) ? [] : ['its tools differ from those without walls']),
      ...(wasLost ? ['the files that it makes are lost'] : []),
      ...(stopped.status === 'stopped' ? [] : [`it is ${stopped.status} after its stop`]),
    ]
    const outcomes = calls.map(({ tool }, at) => outcomeOf(tool, last.calls[at], free.calls[at], shown))
    for (const { tool, behind_walls, without_walls } of outcomes)
      if (behind_walls !== without_walls)
        failures.push(`${tool}: ${behind_walls}, but ${without_walls} without walls`)
    return {
      tools: items.length,
      ...isolation_options,
      calls: outcomes,
      refused: refused.map(({ kind, path, evidence }) => ({
        kind,
        path: path === null ? null : shown(path),
        evidence: shown(evidence).slice(0, MAX_TEXT),
      })),
      home_files: homeFiles.slice(0, MAX_HOME_FILES).map((file) => `~/${file}`),
      failures,
    }
  } finally {
    await request('DELETE', `servers/${id}`)
  }
}

/** Begins with closed walls and follows the suggestions, until a trial suggests nothing new. */
async function widenUntilOpen(trial) {
  let walls = { write: [], read: [], network: 'none' }
  const refused = []
  for (let count = 1; ; count += 1) {
    const last = await trial({ isolation: 'sandbox', isolation_options: walls })
    refused.push(...last.refused)
    const { write, read, network } = last.suggested_options
    const wider = { write, read, network }
    if (JSON.stringify(wider) === JSON.stringify(walls) || count === MAX_TRIALS)
      return { walls, refused, last }
    walls = wider
  }
}

/** The home behind walls is empty and writable, so a server that makes folders there sees no error, and its files are lost. */
async function keepFiles(trial, { walls, refused }, folder, made) {
  const kept = { ...walls, write: [...walls.write, folder] }
  const last = await trial({ isolation: 'sandbox', isolation_options: kept })
  const evidence = `${made.at(-1)} was only in memory, and there was no error`
  return {
    walls: last.suggested_options,
    refused: [...refused, { kind: 'write', path: folder, evidence }, ...last.refused],
    last,
  }
}

function outcomeOf(tool, behind, without, shown) {
  const text = behind && resultOf(behind) !== 'ok' ? { text: shown(behind.text).slice(0, MAX_TEXT) } : {}
  return { tool, behind_walls: resultOf(behind), without_walls: resultOf(without), ...text }
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
function furnish(folder, files = {}) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/** Without Toolroom's own. */
function filesIn(home) {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(home, join(entry.parentPath ?? entry.path, entry.name)))
    .filter((file) => !TOOLROOM.test(file))
}
const TOOLROOM = /^\.(?:local\/share|config)\/toolroom\//
