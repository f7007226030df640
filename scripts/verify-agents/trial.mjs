// One agent in one temporary home directory: write entries through the API, list, remove them, list again.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from '../lib.mjs'
import { askAgent } from './cli.mjs'
import { startLive } from './live.mjs'
import { startToolroom } from './toolroom.mjs'

const FIXTURES = join(root, 'test/fixtures/servers')
const ECHO = join(FIXTURES, 'echo.mjs')
const HEADER = 'x-toolroom-verify'
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** @returns `saw`, the servers it listed with our entries in its file, and the list of failures */
export async function tryAgent(agent, cli, { beside }) {
  // Resolved, because agents compare the folder they run in with the ones they trust.
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'toolroom-verify-')))
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  const interrupted = () => process.exit(130) // runs all `exit` handlers
  process.once('exit', remove)
  for (const signal of SIGNALS) process.on(signal, interrupted)
  const project = join(home, 'project')
  mkdirSync(project)
  put(home, agent.own?.(project) ?? {})
  if (beside)
    put(home, Object.fromEntries(agent.beside(ECHO).map((text, index) => [agent.files[index], text])))
  const live = await startLive(HEADER, 'yes')
  const toolroom = await startToolroom(home).catch(async (error) => {
    await live.close()
    throw error
  })
  try {
    return await trial({ agent, cli, beside, home, project, toolroom, servers: serversFor(live.url) })
  } finally {
    await toolroom.stop()
    await live.close()
    remove()
    process.off('exit', remove)
    for (const signal of SIGNALS) process.off(signal, interrupted)
  }
}

async function trial({ agent, cli, beside, home, project, toolroom, servers }) {
  const failures = []
  const expect = (isTrue, text) => isTrue || failures.push(text)
  const ask = async (when) => {
    const answer = await askAgent(agent, cli, { home, project })
    expect(answer.problem === null, `${when}, ${answer.problem}`)
    if (beside && answer.problem === null) {
      const theirs = answer.servers.find(({ name }) => name === 'theirs')
      expect(
        theirs?.state === stateWanted(agent, 'connected'),
        `${when}, the existing entry is ${theirs?.state}`,
      )
    }
    return answer.servers
  }
  const ours = (list) => list.filter(({ name }) => Object.hasOwn(servers, name)).map(({ name }) => name)
  const where = agent.offByProject && beside ? { project_path: project } : {}

  // The agent may write its file at its first start; the reference is the file before our first write.
  if (beside) expect(ours(await ask('before')).length === 0, 'it listed our names before they were written')
  const before = textsOf(agent, home)

  const entries = Object.fromEntries(Object.entries(servers).map(([name, { entry }]) => [name, entry]))
  const report = await toolroom.ask('PUT', `${agent.type}/servers`, {
    servers: entries,
    create: true,
    ...where,
  })
  expect(report.path === join(home, agent.files[0]), 'Toolroom chose another file')
  const written = textsOf(agent, home)
  for (const [path, text] of Object.entries(before)) {
    expect(keepsLines(text, written[path]), `a line of ${path} changed that we did not write`)
  }

  const list = await ask('with our entries')
  for (const [name, { state, target }] of Object.entries(servers)) {
    const seen = list.find((each) => each.name === name)
    const isRight = seen ? seen.state === stateWanted(agent, state) : state === 'disabled'
    expect(isRight, `${name} is ${seen?.state ?? 'not listed'}`)
    expect(!seen || seen.target.includes(target), `${name} has a wrong command or URL`)
  }

  const rewritten = changed(written, textsOf(agent, home))
  const names = Object.keys(servers)
  await toolroom.ask('DELETE', `${agent.type}/servers`, { names, ...where })
  const after = textsOf(agent, home)
  for (const path of changed(before, after).filter((each) => !rewritten.includes(each))) {
    failures.push(`after the removal ${path} ${difference(before[path], after[path])}`)
  }
  expect(ours(await ask('after the removal')).length === 0, 'it still listed our names after the removal')

  // If the agent wrote in between, the bytes are compared in a second round without it.
  const settled = textsOf(agent, home)
  await toolroom.ask('PUT', `${agent.type}/servers`, { servers: entries, create: true, ...where })
  await toolroom.ask('DELETE', `${agent.type}/servers`, { names, ...where })
  const again = textsOf(agent, home)
  for (const path of changed(settled, again)) {
    failures.push(`after a second round ${path} ${difference(settled[path], again[path])}`)
  }
  const saw = names.flatMap((name) => list.filter((each) => each.name === name))
  return { saw, rewritten, failures }
}

/** The entries we write, and the state that an agent which starts its servers must report. */
function serversFor(liveUrl) {
  const unreachable = 'http://127.0.0.1:9/mcp'
  const echo = { command: 'node', args: [ECHO] }
  // This server does not start without the variable.
  const needsEnv = join(FIXTURES, 'noenv.mjs')
  return {
    'toolroom-echo': { entry: echo, target: ECHO, state: 'connected' },
    'toolroom-env': {
      entry: { command: 'node', args: [needsEnv], env: { API_KEY: 'verify' } },
      target: needsEnv,
      state: 'connected',
    },
    'toolroom-live': {
      entry: { url: liveUrl, headers: { [HEADER]: 'yes' } },
      target: liveUrl,
      state: 'connected',
    },
    'toolroom-docs': { entry: { url: unreachable }, target: unreachable, state: 'unreachable' },
    'toolroom-off': { entry: { ...echo, enabled: false }, target: ECHO, state: 'disabled' },
  }
}

function stateWanted({ connects }, state) {
  return connects || state === 'disabled' ? state : 'enabled'
}

export function put(home, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
}

/** Undefined for a missing file. */
export function textsOf({ files }, home) {
  return Object.fromEntries(
    files.map((path) => {
      const full = join(home, path)
      return [path, existsSync(full) ? readFileSync(full, 'latin1') : undefined] // latin1: byte by byte
    }),
  )
}

function changed(before, after) {
  return Object.keys(before).filter((path) => before[path] !== after[path])
}

function difference(before, after) {
  if (before === undefined) return after === '' ? 'was created and left empty' : 'was created and left behind'
  return after === undefined ? 'was deleted' : 'is not byte-identical'
}

/** Every existing line is still there; only a trailing comma may be new. */
function keepsLines(before = '', after = '') {
  const plain = (line) => line.replace(/,?\s*$/, '').replace(/,(?=\s*(\/\/|\/\*))/, '')
  const lines = new Set(after.split('\n').map(plain))
  return before
    .split('\n')
    .map(plain)
    .every((line) => lines.has(line))
}
