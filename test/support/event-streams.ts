import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { expect, onTestFinished } from 'vitest'

/** A JSON-RPC message. */
export interface Message {
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

export interface Event {
  readonly id: string | undefined
  readonly retry: string | undefined
  readonly data: string
}

interface Options {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  /** Does not read the response until `read` is called. */
  readonly isLazy?: boolean
}

/** An HTTP request on its own connection, which a test can close early or stop reading. */
export class Exchange {
  readonly #request: ClientRequest
  #response: IncomingMessage | undefined
  #rest: string[] = []
  readonly #messages: Message[] = []
  /** Complete events. */
  readonly events: Event[] = []
  status = 0
  type = ''
  isClosed = false

  constructor(url: string, { method = 'POST', headers = {}, body, isLazy = false }: Options) {
    const json = body && { 'content-type': 'application/json' }
    const accept = 'application/json, text/event-stream'
    this.#request = request(url, { method, agent: false, headers: { accept, ...json, ...headers } })
    this.#request.on('error', () => {}) // closed by the test
    this.#request.on('close', () => {
      this.isClosed = true
    })
    this.#request.on('response', (response) => {
      this.status = response.statusCode ?? 0
      this.type = response.headers['content-type'] ?? ''
      this.#response = response
      response.on('error', () => {})
      if (!isLazy) this.read()
    })
    this.#request.end(body && JSON.stringify(body))
    onTestFinished(() => this.disconnect())
  }

  read(): void {
    this.#response?.setEncoding('utf8').on('data', (text: string) => this.#add(text))
  }

  /** Splits only the new text, because some streams are long. */
  #add(text: string): void {
    const parts = text.split('\n\n')
    if (!this.type.startsWith('text/event-stream') || parts.length === 1) {
      this.#rest.push(text)
      return
    }
    const [first = '', ...others] = parts
    const rest = others.pop() ?? ''
    for (const block of [this.#rest.join('') + first, ...others]) this.#event(block)
    this.#rest = [rest]
  }

  #event(block: string): void {
    const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line]))
    const fieldOf = (name: string) =>
      fields
        .get(name)
        ?.slice(name.length + 1)
        .trim()
    const data = fieldOf('data')
    if (data === undefined) return
    this.events.push({ id: fieldOf('id'), retry: fieldOf('retry'), data })
    if (data !== '') this.#messages.push(JSON.parse(data))
  }

  disconnect(): void {
    this.#request.destroy()
  }

  get headers(): IncomingMessage['headers'] {
    return this.#response?.headers ?? {}
  }

  get messages(): readonly Message[] {
    if (!this.type.startsWith('application/json')) return this.#messages
    return this.isClosed ? [JSON.parse(this.#rest.join(''))] : []
  }

  /** The response to the request, once it has arrived. */
  get response(): Message | undefined {
    return this.messages.find(({ method }) => method === undefined)
  }

  async responded(): Promise<Message> {
    await expect.poll(() => this.response).toBeDefined()
    return this.response ?? {}
  }

  async closed(): Promise<void> {
    await expect.poll(() => this.isClosed).toBe(true)
  }
}

/** The text of a tool's result. */
export const textIn = ({ result }: Message): string => {
  const [first] = (result?.content ?? []) as { text?: string }[]
  return first?.text ?? ''
}

const PREFIX = 'io.modelcontextprotocol'

/** The URL of the gateway, and a key for it. */
export interface Endpoint {
  readonly address: string
  readonly key: string
  readonly path: string
}

/** A legacy agent without a client library. */
export class LegacyAgent {
  readonly #endpoint: Endpoint
  readonly version: string
  readonly session: string
  #lastId = -1

  private constructor(endpoint: Endpoint, version: string, session: string) {
    this.#endpoint = endpoint
    this.version = version
    this.session = session
  }

  static async open(
    endpoint: Endpoint,
    version = '2025-11-25',
    capabilities: object = {},
  ): Promise<LegacyAgent> {
    const params = { protocolVersion: version, capabilities, clientInfo: { name: 'test', version: '1' } }
    const initialize = new Exchange(endpoint.address + endpoint.path, {
      headers: { authorization: `Bearer ${endpoint.key}` },
      body: { jsonrpc: '2.0', id: 'initialize', method: 'initialize', params },
    })
    await initialize.responded()
    return new LegacyAgent(endpoint, version, String(initialize.headers['mcp-session-id']))
  }

  get #headers() {
    return {
      authorization: `Bearer ${this.#endpoint.key}`,
      'mcp-session-id': this.session,
      'mcp-protocol-version': this.version,
    }
  }

  /** Ids start at 0, like those of real agents. */
  request(method: string, params: object = {}): Exchange & { readonly requestId: number } {
    this.#lastId += 1
    const requestId = this.#lastId
    return Object.assign(this.send({ id: requestId, method, params }), { requestId })
  }

  call(name: string, args: object = {}, progressToken?: number) {
    const _meta = progressToken === undefined ? {} : { _meta: { progressToken } }
    return this.request('tools/call', { name, arguments: args, ..._meta })
  }

  /** Sends a response or a notification. */
  send(message: object): Exchange {
    const body = { jsonrpc: '2.0', ...message }
    return new Exchange(this.#endpoint.address + this.#endpoint.path, { headers: this.#headers, body })
  }

  listen(lastEventId?: string, isLazy = false): Exchange {
    const from = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const headers = { ...this.#headers, ...from }
    return new Exchange(this.#endpoint.address + this.#endpoint.path, { method: 'GET', headers, isLazy })
  }

  end(): Exchange {
    return new Exchange(this.#endpoint.address + this.#endpoint.path, {
      method: 'DELETE',
      headers: this.#headers,
    })
  }
}

/** Sends a request of a modern agent. */
export function modernRequest(
  { address, key, path }: Endpoint,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { id = 0, capabilities = {}, headers = {}, meta = {}, progressToken }: ModernOptions = {},
): Exchange {
  const name = params.name ?? params.uri ?? params.taskId
  const _meta = {
    [`${PREFIX}/protocolVersion`]: '2026-07-28',
    [`${PREFIX}/clientCapabilities`]: capabilities,
    ...meta,
    ...(progressToken !== undefined && { progressToken }),
  }
  return new Exchange(address + path, {
    headers: {
      authorization: `Bearer ${key}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    },
    body: { jsonrpc: '2.0', id, method, params: { ...params, _meta } },
  })
}

interface ModernOptions {
  readonly id?: string | number
  readonly capabilities?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Additional fields of `_meta`. */
  readonly meta?: object
  readonly progressToken?: string | number
}
