import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'vitest'
import { type Endpoint, type Exchange, LegacyAgent, type Message, modernRequest } from './event-streams.ts'
import { type Era, newKey } from './gateway.ts'
import { atEnd } from './lifetime.ts'
import { definition, post } from './running-servers.ts'
import { openTestService, type TestService } from './test-service.ts'

/** The era of the agent, and the era and transport of the server. */
export interface Column {
  readonly agent: Era
  readonly server: Era
  readonly over: 'stdio' | 'http'
}

const ERAS: readonly Era[] = ['legacy', 'modern']
export const COLUMNS: readonly Column[] = ERAS.flatMap((agent) =>
  (['stdio', 'http'] as const).flatMap((over) => ERAS.map((server) => ({ agent, server, over }))),
)

export const titleOf = ({ agent, server, over }: Column): string => `${agent} → ${server} ${over}`

/** An agent with all capabilities, and one server named `relay` behind the gateway. */
export interface Relay extends Column {
  /** The gateway name of a tool or prompt. */
  readonly named: (name: string) => string
  readonly request: (
    method: string,
    params?: object,
    meta?: object,
  ) => Exchange & { readonly requestId: number }
  readonly call: (tool: string, args?: object, meta?: object) => ReturnType<Relay['request']>
  /** Sends a response or a notification. Only for legacy agents. */
  readonly send: (message: object) => void
  /** Opens the GET stream of a legacy agent, or a `subscriptions/listen` request of a modern one. */
  readonly listen: (notifications: object) => Promise<Exchange>
  /** The same server, with an agent that has no capabilities. */
  readonly withoutCapabilities: () => Promise<Relay>
  /** What the server has received. */
  readonly serverState: () => Promise<ServerState>
}

interface ServerState {
  readonly cancelled: number
  readonly held: number
  readonly level: string | null
  readonly watched: readonly string[]
}

type Path = '/mcp' | '/mcp/relay'

export const openRelay = async (column: Column): Promise<Relay> => (await openRelays(column))('/mcp')

/** A service with the server of a column. Returns a function that connects an agent. */
export async function openRelays(column: Column): Promise<(path: Path) => Promise<Relay>> {
  const service = await openTestService()
  const servers = column.over === 'stdio' ? '/api/servers' : '/api/http-servers'
  await addServer(service, column)
  const serverState = async () => {
    const reply = await post(service, `${servers}/relay/tools/asked/call`, {})
    expect(reply.statusCode, reply.body).toBe(200)
    return JSON.parse(reply.json().content[0].text) as ServerState
  }
  await serverState() // connects to the server
  return (path) => connect(service, column, path, serverState)
}

async function connect(
  service: TestService,
  column: Column,
  path: Path,
  serverState: Relay['serverState'],
): Promise<Relay> {
  const endpoint = { address: service.address, key: await newKey(service), path }
  const named = (name: string) => (path === '/mcp' ? `relay__${name}` : name)
  const relayFor = async (capabilities: object): Promise<Relay> => {
    const side = await (column.agent === 'legacy' ? legacySide : modernSide)(endpoint, capabilities)
    const call = (tool: string, args: object = {}, meta: object = {}) =>
      side.request('tools/call', { name: named(tool), arguments: args }, meta)
    return { ...column, ...side, named, call, serverState, withoutCapabilities: () => relayFor({}) }
  }
  const relay = await relayFor(ALL_CAPABILITIES)
  // The other lists arrive after a server is ready.
  for (const kind of ['prompts', 'resources'])
    await expect
      .poll(async () => (await relay.request(`${kind}/list`).responded()).result?.[kind])
      .toHaveLength(1)
  return relay
}

async function addServer(service: TestService, { server, over }: Column): Promise<void> {
  const relay = definition('relay', [`--era=${server}`, ...(over === 'http' ? ['--http'] : [])])
  if (over === 'stdio') {
    expect((await post(service, '/api/servers', { ...relay, sharing: 'shared' })).statusCode).toBe(201)
    expect((await post(service, '/api/servers/relay/start')).statusCode).toBe(200)
    return
  }
  const child = spawn(relay.command, relay.args, { stdio: ['ignore', 'pipe', 'inherit'] })
  atEnd(() => child.kill('SIGKILL'))
  const [url] = await once(child.stdout, 'data')
  const added = await post(service, '/api/http-servers', { name: 'relay', url: String(url).trim() })
  expect(added.statusCode, added.body).toBe(201)
}

type Side = Pick<Relay, 'request' | 'send' | 'listen'>

const ALL_CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} }

async function legacySide(endpoint: Endpoint, capabilities: object): Promise<Side> {
  const agent = await LegacyAgent.open(endpoint, '2025-11-25', capabilities)
  return {
    request: (method, params = {}, meta = {}) =>
      agent.request(method, { ...params, ...(Object.keys(meta).length > 0 && { _meta: meta }) }),
    send: (message) => void agent.send(message),
    listen: async () => {
      const stream = agent.listen()
      await expect.poll(() => stream.status).toBe(200)
      return stream
    },
  }
}

async function modernSide(endpoint: Endpoint, capabilities: object): Promise<Side> {
  let lastId = -1
  const request: Side['request'] = (method, params = {}, meta = {}) => {
    lastId += 1
    const requestId = lastId
    const options = { id: requestId, capabilities, meta }
    return Object.assign(modernRequest(endpoint, method, { ...params }, options), { requestId })
  }
  return {
    request,
    send: () => expect.unreachable('a modern agent sends only requests'),
    listen: async (notifications) => {
      const stream = request('subscriptions/listen', { notifications })
      const acknowledged = { method: 'notifications/subscriptions/acknowledged', params: { notifications } }
      await expect.poll(() => stream.messages[0]).toMatchObject(acknowledged)
      return stream
    },
  }
}

/** The params of the notifications of one kind, in order. */
export const notificationsIn = (messages: readonly Message[], method: string) =>
  messages.flatMap((each) => (each.method === `notifications/${method}` ? [each.params ?? {}] : []))

/** Waits until the notifications about the start of the server have arrived. */
export async function settle({ messages }: { readonly messages: readonly unknown[] }): Promise<void> {
  let [since, count] = [performance.now(), messages.length]
  const quietMs = () => {
    if (messages.length !== count) [since, count] = [performance.now(), messages.length]
    return performance.now() - since
  }
  await expect.poll(quietMs).toBeGreaterThan(500)
}
