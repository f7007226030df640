import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { stopwatch } from './measuring.ts'
import { TOKEN } from './token.ts'

/** A running service, in this process or in its own. */
interface Service {
  readonly address: string
}

export type Era = 'legacy' | 'modern'

/** A JSON-RPC message that an agent receives. */
interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly error?: {
    readonly code: number
    readonly message: string
    readonly data?: { readonly code?: string }
  }
}

/** The response to one request, with everything that was sent before it. */
export interface Reply {
  readonly status: number
  /** In order. A plain JSON response is one message. */
  readonly messages: readonly Message[]
  /** The messages with the id of the request. Any number but one is an error. */
  readonly answers: readonly Message[]
  /** Of our own code, in this process. */
  readonly ms: number
}

const PREFIX = 'io.modelcontextprotocol'
const VERSIONS = { legacy: '2025-11-25', modern: '2026-07-28' }
export const META = {
  [`${PREFIX}/protocolVersion`]: VERSIONS.modern,
  [`${PREFIX}/clientCapabilities`]: {},
}

/** Creates a gateway key. */
export async function newKey({ address }: Service, agent_type = 'cursor'): Promise<string> {
  const reply = await fetch(`${address}/api/keys`, {
    method: 'POST',
    headers: { 'x-svc-token': TOKEN, 'content-type': 'application/json' },
    body: JSON.stringify({ agent_type }),
  })
  return ((await reply.json()) as { key: string }).key
}

/** An agent without a client library, which would hide faulty responses. */
export class Agent {
  readonly #url: string
  readonly #key: string
  readonly era: Era
  #session: string | undefined
  #lastId = -1
  /** The messages on the GET stream of the session. */
  readonly received: Message[] = []

  private constructor({ address }: Service, key: string, era: Era, path: string) {
    this.#url = address + path
    this.#key = key
    this.era = era
  }

  /** A legacy agent initializes its session first, and opens the GET stream. */
  static async open(service: Service, key: string, era: Era, path = '/mcp'): Promise<Agent> {
    const agent = new Agent(service, key, era, path)
    if (era === 'legacy') await agent.#initialize()
    return agent
  }

  get headers(): Record<string, string> {
    return {
      authorization: `Bearer ${this.#key}`,
      'mcp-protocol-version': VERSIONS[this.era],
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
    }
  }

  /** Sends a request. Ids start at 0, like those of real agents. */
  async ask(method: string, params: object = {}, signal?: AbortSignal): Promise<Reply> {
    this.#lastId += 1
    const id = this.#lastId
    const { name } = params as { name?: string }
    const isModern = this.era === 'modern'
    const spent = stopwatch()
    const headers = {
      ...this.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(isModern && { 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) }),
    }
    const message = { jsonrpc: '2.0', id, method, params: isModern ? { ...params, _meta: META } : params }
    const reply = await post(this.#url, headers, JSON.stringify(message), signal)
    this.#session ??= reply.headers['mcp-session-id']?.toString()
    const messages = messagesIn(await textIn(reply), reply.headers['content-type'] ?? '')
    const answers = messages.filter((each) => each.id === id && each.method === undefined)
    return { status: reply.statusCode ?? 0, messages, answers, ms: spent() }
  }

  /** Sends a text as it is. The headers of a modern agent name the method and, if given, the tool. */
  send(body: string, method = 'tools/call', name?: string): Promise<Response> {
    const modern = { 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) }
    const headers = {
      ...this.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.era === 'modern' && modern),
    }
    return fetch(this.#url, { method: 'POST', headers, body })
  }

  call(name: string, args: object = {}, signal?: AbortSignal): Promise<Reply> {
    return this.ask('tools/call', { name, arguments: args }, signal)
  }

  async #initialize(): Promise<void> {
    const params = {
      protocolVersion: VERSIONS.legacy,
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    }
    await this.ask('initialize', params)
    this.#lastId = -1 // the first request of a test has the id 0
    const controller = new AbortController()
    onTestFinished(() => controller.abort())
    const stream = await fetch(this.#url, { headers: this.headers, signal: controller.signal })
    void this.#listen(stream).catch(() => {}) // closed at the end of the test
  }

  async #listen(stream: Response): Promise<void> {
    let rest = ''
    for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const events = (rest + part).split('\n\n')
      rest = events.pop() ?? ''
      this.received.push(...events.flatMap(dataOf))
    }
  }
}

/** Over a new connection, because the service may close an idle one at the moment at which the request is sent. */
function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false, ...(signal && { signal }) }, resolve)
    sent.on('error', reject)
    sent.end(body)
  })
}

async function textIn(reply: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of reply) parts.push(part)
  return Buffer.concat(parts).toString()
}

/** Returns a function that counts the calls to servers from now on. A call that reaches no server has no duration. */
export async function callsStarted({ address }: Service): Promise<() => number> {
  let started = 0
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (data) => {
    const { type, data: call } = JSON.parse(String(data))
    if (type === 'call_started') started += 1
    if (type === 'call_completed' && call.duration_ms === null) started -= 1
  })
  await once(socket, 'open')
  return () => started
}

/** The text of a result. Undefined for an error. */
export const textOf = (message: Message | undefined): string | undefined =>
  (message?.result as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text

/** The names in a tools/list result. */
export const toolsIn = (message: Message | undefined): string[] | undefined =>
  (message?.result as { tools?: { name: string }[] } | undefined)?.tools?.map(({ name }) => name)

function messagesIn(body: string, type: string): Message[] {
  if (type.startsWith('text/event-stream')) return body.split('\n\n').flatMap(dataOf)
  return body === '' ? [] : [JSON.parse(body) as Message]
}

function dataOf(event: string): Message[] {
  const data = event.split('\n').flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
  return data.join('').trim() === '' ? [] : [JSON.parse(data.join('\n')) as Message]
}
