// Compares one server at a time: started by a client of its own, and through `/mcp/{server_id}` and `/mcp`.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../lib.mjs'
import { startToolroom } from '../verify-agents/toolroom.mjs'
import { compare, gatewayName, isTimed, SERVER_ID } from './compare.mjs'
import { DirectClient } from './direct-client.mjs'
import { GatewayClient } from './gateway-client.mjs'
import { ask, listsOf, OWN_NAMES, planFor } from './probes.mjs'
import { compareWithSdks } from './sdk-clients.mjs'

const ERAS = ['legacy', 'modern']
const WAYS = { server: `/mcp/${SERVER_ID}`, all: '/mcp' }
const PROFILES = ['plain', 'able']
const NEIGHBOUR = join(root, 'test/fixtures/servers/echo.mjs')
const ERA_PROBE_MS = 30_000
const STABLE_MS = 500
const MAX_POLLS = 40

/** Compares a server behind a service of its own. */
export async function compareAlone(server, sdks) {
  const bed = await openBed()
  try {
    return await compareServer(bed, server, sdks)
  } finally {
    await bed.close()
  }
}

/** A running service with one other server, an empty home directory for all servers, and a key. */
export async function openBed() {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'toolroom-fidelity-')))
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  const files = join(home, 'files')
  mkdirSync(files)
  const toolroom = await startToolroom(home)
  const close = async () => {
    await toolroom.stop()
    remove()
  }
  try {
    await toolroom.request('POST', 'servers', {
      name: 'neighbour',
      command: process.execPath,
      args: [NEIGHBOUR],
    })
    await toolroom.request('POST', 'servers/neighbour/start')
    const { key } = await toolroom.request('POST', 'keys', { agent_type: 'fidelity' })
    return { home, files, toolroom, key, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Every combination of a profile, an era and a way. */
const EVERY = PROFILES.flatMap((profile) =>
  ERAS.flatMap((era) => Object.keys(WAYS).map((via) => ({ profile, era, via }))),
)
/** Every pair of a profile, an era and a way. */
const PAIRS = EVERY.filter(
  ({ profile, era, via }) => ((profile === 'able') !== (era === 'modern')) === (via === 'all'),
)

/**
 * @param server `{ name, version, command, args, env, calls, … }`; `@files` in an argument is a folder that exists
 * @param isShort half of the combinations, and one way for each SDK
 * @returns the number of comparisons and the differences
 */
export async function compareServer(bed, entry, sdks, isShort = false) {
  const server = {
    ...entry,
    calls: entry.calls?.map(([tool, args, meta]) => [tool, inFiles(bed, args), meta]),
  }
  const definition = definitionOf(bed, server)
  const direct = await recordDirectly(definition, server)
  const results = []
  const lists = await addServer(bed, definition)
  const refresh = () => restart(bed, server, lists)
  try {
    for (const { profile, era, via } of isShort ? PAIRS : EVERY) {
      await refresh()
      const base = direct[profile][era] ?? direct[profile][era === 'legacy' ? 'modern' : 'legacy']
      const channel = {
        isPinned: direct.isPinned,
        server: server.name,
        client: 'raw',
        profile,
        via,
        era,
        isTranslated: base.era !== era,
      }
      results.push(compare({ ...base, gateway: await recordThroughGateway(bed, base, channel) }, channel))
      if (server.checksIds && profile === 'plain') results.push(await compareIds(bed, channel))
    }
    const { plan, eras, isPinned } = direct
    const more = { bed, definition, server, plan, eras, isPinned, refresh }
    for (const [n, sdk] of sdks.entries()) {
      const ways = Object.entries(WAYS).filter((_, at) => !isShort || at === n % 2)
      results.push(...(await compareWithSdks(sdk, ways, more)))
    }
  } finally {
    await bed.toolroom.request('DELETE', `servers/${SERVER_ID}`)
  }
  return {
    comparisons: results.reduce((sum, { comparisons }) => sum + comparisons, 0),
    differences: results.flatMap((each) => each.differences),
    eras: direct.eras,
  }
}

function definitionOf(bed, { command = process.execPath, args = [], env = {} }) {
  // What a server inherits from the service.
  const inherited = { PATH: process.env.PATH, HOME: bed.home }
  return { command, args: inFiles(bed, args), env: inFiles(bed, env), cwd: bed.files, inherited }
}

/** The value with the path of the folder in place of `@files`. Text is sent as it is. */
const inFiles = ({ files }, value) =>
  typeof value === 'string' ? value : JSON.parse(JSON.stringify(value).replaceAll('@files', files))

/** Everything is asked twice, in two processes, to know what the server itself does not repeat. */
async function recordDirectly(definition, server) {
  const recorded = { plain: {}, able: {}, eras: [], isPinned: false }
  for (const era of ERAS) {
    const lists = await withDirect(definition, { era, profile: 'plain', deadlineMs: ERA_PROBE_MS }, listsOf)
    if (!lists) continue
    recorded.eras.push(era)
    recorded.plan ??= planFor(lists, server)
    for (const profile of PROFILES) {
      const record = (client, handshake) =>
        recordAll(client, planOf(recorded.plan, era, profile), OWN_NAMES, handshake)
      const both = [1, 2].map(() => withDirect(definition, { era, profile }, record))
      const [direct, control] = await Promise.all(both)
      recorded[profile][era] = { era, direct, control, plan: recorded.plan }
    }
  }
  if (recorded.eras.length === ERAS.length) recorded.isPinned = await pinsItsEra(definition)
  if (recorded.eras.length === 0) throw new Error('the server does not answer')
  return recorded
}

/** Whether a process that was opened in one era refuses the other. */
function pinsItsEra(definition) {
  return withDirect(
    definition,
    { era: 'legacy', profile: 'plain', deadlineMs: ERA_PROBE_MS },
    async (client) => {
      client.era = 'modern'
      return (await client.request('server/discover')).kind !== 'result'
    },
  )
}

const planOf = (plan, era, profile) =>
  plan.filter(
    (probe) =>
      probe.eras.includes(era) &&
      (profile === 'plain' || probe.isShort) &&
      (probe.profile === undefined || probe.profile === profile),
  )

/** @returns undefined if the server does not support the era */
async function withDirect({ command, args, cwd, env, inherited }, options, work) {
  const client = new DirectClient({ command, args, cwd, env: { ...inherited, ...env } }, options)
  try {
    const handshake = await client.open()
    if (handshake.kind !== 'result') return undefined
    return await work(client, handshake)
  } finally {
    await client.close()
  }
}

/** The answer to each probe, and to the handshake. Probes without an answer are left out. */
async function recordAll(client, plan, named, handshake, expected) {
  const recorded = new Map([['handshake', { answers: [handshake] }]])
  for (const probe of plan) {
    const isCall = probe.method === 'tools/call'
    const timedIn = (messages) => messages.filter(isTimed(probe.hasLogs)).length
    const wanted = isCall ? timedIn(expected?.get(probe.name)?.answers[0].messages ?? []) : 0
    const answers = await ask(client, probe, named, (messages) => timedIn(messages) >= wanted)
    if (expected || answers.every(({ kind }) => kind !== 'none'))
      recorded.set(probe.name, {
        answers,
        field: probe.field,
        hasMessages: isCall,
        hasLogs: probe.hasLogs,
      })
  }
  return recorded
}

async function recordThroughGateway({ toolroom, key }, base, { via, era, profile }) {
  const { direct, plan } = base
  const client = new GatewayClient({ url: toolroom.address + WAYS[via], key }, { era, profile })
  try {
    const handshake = await client.open()
    // A probe that the other era does not have is sent, for its effect, and not compared.
    const asked = planOf(plan, era, profile).filter(
      ({ name, eras }) => direct.has(name) || !eras.includes(base.era),
    )
    return await recordAll(client, asked, via === 'all' ? gatewayName : OWN_NAMES, handshake, direct)
  } finally {
    await client.close()
  }
}

/** An answer has the id of its request, as it was written. */
async function compareIds({ toolroom, key }, channel) {
  const { via, era, profile } = channel
  const client = new GatewayClient({ url: toolroom.address + WAYS[via], key }, { era, profile })
  const differences = []
  try {
    await client.open()
    for (const [id, params] of IDS) {
      const answer = await client.request('tools/list', params, { id })
      const probe = `id ${id}${params === '{}' ? '' : ` with params ${params}`}`
      if (answer.id !== id || answer.kind === 'none')
        differences.push({
          ...channel,
          probe,
          path: '/id',
          at: 'value /id',
          kind: 'value',
          direct: id,
          gateway: answer.kind === 'none' ? answer.text : answer.id,
        })
    }
  } finally {
    await client.close()
  }
  return { comparisons: IDS.length, differences }
}
const IDS = [
  ...['0', '-0', '1.0', '1e2', '9007199254740993', '1e400', '"a"', '""', String.raw`"\u00e9"`].map((id) => [
    id,
    '{}',
  ]),
  ['901', 'null'],
  ['902', '[]'],
]

/** @returns the lists at `/mcp` as a text */
async function addServer(bed, { command, args, cwd, env }) {
  const { toolroom } = bed
  const timeouts = { start_s: 60 }
  await toolroom.request('POST', 'servers', { name: SERVER_ID, command, args, cwd, env, timeouts })
  try {
    await toolroom.request('POST', `servers/${SERVER_ID}/start?wait_s=60`)
    return await settle(bed)
  } catch (error) {
    await toolroom.request('DELETE', `servers/${SERVER_ID}`)
    throw error
  }
}

/** Restarts a server that remembers calls. */
async function restart(bed, { isStateful }, lists) {
  if (!isStateful) return
  await bed.toolroom.request('POST', `servers/${SERVER_ID}/restart`)
  await settle(bed, lists)
}

/** Waits until the lists at `/mcp`, which are read in the background, are as expected or stable. */
async function settle({ toolroom, key }, expected) {
  const client = new GatewayClient(
    { url: toolroom.address + WAYS.all, key },
    { era: 'modern', profile: 'plain' },
  )
  let [before, since] = ['', performance.now()]
  for (let n = 0; n < MAX_POLLS && performance.now() - since < STABLE_MS; n += 1) {
    const now = JSON.stringify(await listsOf(client))
    if (now !== before) [before, since] = [now, performance.now()]
    if (now === expected) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return before
}
