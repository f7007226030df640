import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { TOKEN } from './house.ts'

/** The address of a service, in this process or in its own. */
interface Place {
  readonly address: string
}

export type Era = 'legacy' | 'modern'

/** A JSON-RPC message as an agent receives it. */
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

/** Everything received for one request. */
export interface Reply {
  readonly status: number
  /** In order; a plain JSON response is one message. */
  readonly messages: readonly Message[]
  /** The responses to this request; anything but exactly one is an error. */
  readonly answers: readonly Message[]
  readonly ms: number
}

const PREFIX = 'io.modelcontextprotocol'
const VERSIONS = { legacy: '2025-11-25', modern: '2026-07-28' }
export const META = {
  [`${PREFIX}/protocolVersion`]: VERSIONS.modern,
  [`${PREFIX}/clientCapabilities`]: {},
}

/** Creates a key for one agent. */
export async function newKey({ address }: Place, agent_type = 'cursor'): Promise<string> {
  const reply = await fetch(`${address}/api/keys`, {
    method: 'POST',
    headers: { 'x-svc-token': TOKEN, 'content-type': 'application/json' },
    body: JSON.stringify({ agent_type }),
  })
  return ((await reply.json()) as { key: string }).key
}

/** An agent at the gateway without a client library, which would normalise the responses. */
export class Agent {
  readonly #url: string
  readonly #key: string
  readonly era: Era
  #session: string | undefined
  #lastId = -1
  /** Messages received on the session's GET stream. */
  readonly heard: Message[] = []

  private constructor({ address }: Place, key: string, era: Era, path: string) {
    this.#url = address + path
    this.#key = key
    this.era = era
  }

  /** A legacy agent: sends initialize and opens the GET stream. */
  static async open(place: Place, key: string, era: Era, path = '/mcp'): Promise<Agent> {
    const agent = new Agent(place, key, era, path)
    if (era === 'legacy') await agent.#greet()
    return agent
  }

  get headers(): Record<string, string> {
    return {
      authorization: `Bearer ${this.#key}`,
      'mcp-protocol-version': VERSIONS[this.era],
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
    }
  }

  /** Ids start at 0, like those of real agents. */
  async ask(method: string, params: object = {}, signal?: AbortSignal): Promise<Reply> {
    this.#lastId += 1
    const id = this.#lastId
    const { name } = params as { name?: string }
    const isModern = this.era === 'modern'
    const startedAt = performance.now()
    const reply = await fetch(this.#url, {
      method: 'POST',
      headers: {
        ...this.headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(isModern && { 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id,
        method,
        params: isModern ? { ...params, _meta: META } : params,
      }),
      ...(signal && { signal }),
    })
    this.#session ??= reply.headers.get('mcp-session-id') ?? undefined
    const messages = messagesIn(await reply.text(), reply.headers.get('content-type') ?? '')
    const answers = messages.filter((each) => each.id === id && each.method === undefined)
    return { status: reply.status, messages, answers, ms: performance.now() - startedAt }
  }

  call(name: string, args: object = {}, signal?: AbortSignal): Promise<Reply> {
    return this.ask('tools/call', { name, arguments: args }, signal)
  }

  async #greet(): Promise<void> {
    const hello = {
      protocolVersion: VERSIONS.legacy,
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    }
    await this.ask('initialize', hello)
    this.#lastId = -1 // the first request of a test has the id 0
    const over = new AbortController()
    onTestFinished(() => over.abort())
    const stream = await fetch(this.#url, { headers: this.headers, signal: over.signal })
    void this.#listen(stream).catch(() => {}) // ends with the test or the service
  }

  async #listen(stream: Response): Promise<void> {
    let rest = ''
    for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const events = (rest + part).split('\n\n')
      rest = events.pop() ?? ''
      this.heard.push(...events.flatMap(dataOf))
    }
  }
}

/** Counts the calls sent to servers from now on. */
export async function callsStarted({ address }: Place): Promise<() => number> {
  let started = 0
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (data) => {
    if (JSON.parse(String(data)).type === 'call_started') started += 1
  })
  await once(socket, 'open')
  return () => started
}

/** The text of a result, or undefined without one. */
export const textOf = (message: Message | undefined): string | undefined =>
  (message?.result as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text

/** The names in a tools/list response. */
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
