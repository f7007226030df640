import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished } from 'vitest'
import { askModern, type Exchange, LegacyAgent, type Message } from './event-streams.ts'
import { type Era, newKey } from './gateway.ts'
import { type House, openHouse } from './house.ts'
import { definition, post } from './running.ts'

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

/** An agent with all capabilities at the gateway, and behind it the server `relay` of one era. */
export interface Relay extends Column {
  /** The agent's name of a tool or prompt of the server. */
  readonly named: (name: string) => string
  readonly ask: (method: string, params?: object, meta?: object) => Exchange & { readonly requestId: number }
  readonly call: (tool: string, args?: object, meta?: object) => ReturnType<Relay['ask']>
  /** Legacy agents only: sends a response or a notification. */
  readonly tell: (message: object) => void
  /** Messages that belong to no request: over GET (legacy), or by `subscriptions/listen` (modern). */
  readonly listen: (notifications: object) => Promise<Exchange>
  /** The same tools, for an agent without capabilities. */
  readonly unable: () => Promise<Relay>
  /** The server's own record of the requests it received. */
  readonly asked: () => Promise<Asked>
}

interface Asked {
  readonly cancelled: number
  readonly held: number
  readonly level: string | null
  readonly watched: readonly string[]
}

export async function openRelay(column: Column, path: '/mcp' | '/mcp/relay' = '/mcp'): Promise<Relay> {
  const house = await openHouse()
  const servers = column.over === 'stdio' ? '/api/servers' : '/api/http-servers'
  await begin(house, column)
  const asked = async () => {
    const reply = await post(house, `${servers}/relay/tools/asked/call`, {})
    expect(reply.statusCode, reply.body).toBe(200)
    return JSON.parse(reply.json().content[0].text) as Asked
  }
  await asked() // the first call connects to the server
  const place = { address: house.address, key: await newKey(house), path }
  const named = (name: string) => (path === '/mcp' ? `relay__${name}` : name)
  const relayFor = async (capabilities: object): Promise<Relay> => {
    const side = await (column.agent === 'legacy' ? legacySide : modernSide)(place, capabilities)
    const call = (tool: string, args: object = {}, meta: object = {}) =>
      side.ask('tools/call', { name: named(tool), arguments: args }, meta)
    return { ...column, ...side, named, call, asked, unable: () => relayFor({}) }
  }
  const relay = await relayFor(ASKABLE)
  // Lists are read in the background after a server is ready.
  for (const kind of ['prompts', 'resources'])
    await expect
      .poll(async () => (await relay.ask(`${kind}/list`).answered()).result?.[kind], { timeout: 10_000 })
      .toHaveLength(1)
  return relay
}

async function begin(house: House, { server, over }: Column): Promise<void> {
  const relay = definition('relay', [`--era=${server}`, ...(over === 'http' ? ['--http'] : [])])
  if (over === 'stdio') {
    expect((await post(house, '/api/servers', relay)).statusCode).toBe(201)
    expect((await post(house, '/api/servers/relay/start')).statusCode).toBe(200)
    return
  }
  const child = spawn(relay.command, relay.args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [url] = await once(child.stdout, 'data')
  const added = await post(house, '/api/http-servers', { name: 'relay', url: String(url).trim() })
  expect(added.statusCode, added.body).toBe(201)
}

type Side = Pick<Relay, 'ask' | 'tell' | 'listen'>
type Place = Parameters<typeof askModern>[0]

const ASKABLE = { elicitation: {}, sampling: {}, roots: {} }

async function legacySide(place: Place, capabilities: object): Promise<Side> {
  const agent = await LegacyAgent.open(place, '2025-11-25', capabilities)
  return {
    ask: (method, params = {}, meta = {}) =>
      agent.ask(method, { ...params, ...(Object.keys(meta).length > 0 && { _meta: meta }) }),
    tell: (message) => void agent.tell(message),
    listen: async () => {
      const stream = agent.listen()
      await expect.poll(() => stream.status).toBe(200)
      return stream
    },
  }
}

async function modernSide(place: Place, capabilities: object): Promise<Side> {
  let lastId = -1
  const ask: Side['ask'] = (method, params = {}, meta = {}) => {
    lastId += 1
    const requestId = lastId
    const options = { id: requestId, capabilities, meta }
    return Object.assign(askModern(place, method, { ...params }, options), { requestId })
  }
  return {
    ask,
    tell: () => expect.unreachable('a modern agent sends only requests'),
    listen: async (notifications) => {
      const stream = ask('subscriptions/listen', { notifications })
      const acknowledged = { method: 'notifications/subscriptions/acknowledged', params: { notifications } }
      await expect.poll(() => stream.messages[0]).toMatchObject(acknowledged)
      return stream
    },
  }
}

/** The params of the notifications of one kind, in order. */
export const notesIn = (messages: readonly Message[], method: string) =>
  messages.flatMap((each) => (each.method === `notifications/${method}` ? [each.params ?? {}] : []))

/** Waits for the change notifications of the server's start, which are sent with a delay. */
export async function quiet({ messages }: { readonly messages: readonly unknown[] }): Promise<void> {
  let [since, count] = [performance.now(), messages.length]
  const quietMs = () => {
    if (messages.length !== count) [since, count] = [performance.now(), messages.length]
    return performance.now() - since
  }
  await expect.poll(quietMs, { timeout: 10_000 }).toBeGreaterThan(500)
}
