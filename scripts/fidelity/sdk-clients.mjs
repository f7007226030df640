// The same comparison with the clients of the official SDKs, which parse and validate what they receive.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../lib.mjs'
import { compare, gatewayName } from './compare.mjs'
import { installPackages } from './install.mjs'
import { OWN_NAMES } from './probes.mjs'

const V1 = '@modelcontextprotocol/sdk'
const V2 = '@modelcontextprotocol/client'
export const V2_VERSION = '2.4.0'
const CLIENT_INFO = { name: 'fidelity', version: '1.0.0' }
const PIN = { versionNegotiation: { mode: { pin: '2026-07-28' } } }
const MAX_CALLS = 3

/** SDK v1 is a development dependency; the client of v2 is installed into the cache. */
export async function loadSdks() {
  const v1 = await sdkFrom(root, [
    `${V1}/client/index.js`,
    `${V1}/client/stdio.js`,
    `${V1}/client/streamableHttp.js`,
  ])
  const folder = await installPackages('client-v2', { [V2]: V2_VERSION })
  const v2 = await sdkFrom(folder, [V2, `${V2}/stdio`])
  return [
    { name: 'SDK v1', era: 'legacy', ...v1, options: {} },
    { name: 'SDK v2', era: 'legacy', ...v2, options: {} },
    { name: 'SDK v2', era: 'modern', ...v2, options: PIN },
  ]
}

async function sdkFrom(folder, modules) {
  const { resolve } = createRequire(join(folder, 'package.json'))
  const loaded = await Promise.all(modules.map((each) => import(pathToFileURL(resolve(each)).href)))
  const { Client, StdioClientTransport, StreamableHTTPClientTransport } = Object.assign({}, ...loaded)
  return { Client, StdioClientTransport, StreamableHTTPClientTransport }
}

/** @param sdk one of the clients; @param ways names and paths; @returns a result for each of these paths of the gateway */
export async function compareWithSdks(sdk, ways, { bed, definition, server, plan, eras, isPinned, refresh }) {
  if (!eras.includes(sdk.era)) return [] // it cannot use the server directly
  const recordDirectly = () => record(sdk, directTransport(sdk, definition), { plan, server })
  const [direct, control] = await Promise.all([recordDirectly(), recordDirectly()])
  const results = []
  for (const [via, path] of ways) {
    await refresh()
    const named = via === 'all' ? gatewayName : OWN_NAMES
    const gateway = await record(sdk, gatewayTransport(sdk, bed, path), { plan, server, named })
    const channel = {
      server: server.name,
      client: sdk.name,
      profile: 'plain',
      via,
      era: sdk.era,
      isTranslated: false,
      isPinned,
    }
    results.push(compare({ direct, control, gateway }, channel))
  }
  return results
}

function directTransport({ StdioClientTransport }, { command, args, cwd, env, inherited }) {
  return new StdioClientTransport({ command, args, cwd, env: { ...inherited, ...env }, stderr: 'ignore' })
}

function gatewayTransport({ StreamableHTTPClientTransport }, { toolroom, key }, path) {
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  return new StreamableHTTPClientTransport(new URL(toolroom.address + path), { requestInit })
}

/** In the form of a recording of the other clients. */
async function record({ Client, options }, transport, { plan, server, named = OWN_NAMES }) {
  const client = new Client(CLIENT_INFO, options)
  const recorded = new Map()
  const keep = async (name, work, field) => {
    const answer = await work().then(
      (result) => ({ kind: 'result', text: JSON.stringify(result ?? null) }),
      ({ code, message, data }) => ({ kind: 'error', text: JSON.stringify({ code, message, data }) }),
    )
    recorded.set(name, { answers: [answer], field })
  }
  try {
    await client.connect(transport)
    await keep('handshake', async () => ({
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    }))
    const { tools, prompts, resources, completions } = client.getServerCapabilities() ?? {}
    const list = (method, field, page) => keep(method, () => allPages(page, field), field)
    if (tools) await list('tools/list', 'tools', (cursor) => client.listTools(cursor))
    if (prompts) await list('prompts/list', 'prompts', (cursor) => client.listPrompts(cursor))
    if (resources) {
      await list('resources/list', 'resources', (cursor) => client.listResources(cursor))
      const method = 'resources/templates/list'
      await list(method, 'resourceTemplates', (cursor) => client.listResourceTemplates(cursor))
    }
    const calls = (server.calls ?? []).filter(([, args]) => typeof args === 'object').slice(0, MAX_CALLS)
    for (const [tool, args] of calls)
      await keep(`tools/call ${tool}`, () => client.callTool({ name: named(tool), arguments: args }))
    for (const { name, method, params } of plan) {
      const given = () => JSON.parse(params(named))
      if (prompts && method === 'prompts/get') await keep(name, () => client.getPrompt(given()))
      if (resources && method === 'resources/read') await keep(name, () => client.readResource(given()))
      if (completions && method === 'completion/complete') await keep(name, () => client.complete(given()))
    }
    return recorded
  } finally {
    if (transport.pid) process.kill(transport.pid, 'SIGKILL') // otherwise the SDK waits for it to end
    await client.close()
  }
}

/** SDK v1 returns one page at a time, v2 all of them. */
async function allPages(list, field) {
  const { nextCursor, ...first } = await list(undefined)
  for (let cursor = nextCursor; typeof cursor === 'string'; ) {
    const page = await list({ cursor })
    first[field].push(...page[field])
    cursor = page.nextCursor
  }
  return first
}
