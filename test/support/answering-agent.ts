import { isObject } from '../../src/kernel/json/json-checks.ts'
import type { Endpoint, Message } from './event-streams.ts'

const META = 'io.modelcontextprotocol'

/** An agent that answers the questions of servers with its own name, and records what was not meant for it. */
export class AnsweringAgent {
  readonly name: string
  readonly #endpoint: Endpoint
  readonly #capabilities: object
  readonly #headers: Record<string, string>
  #lastId = 0
  /** Questions and log messages that name another agent. */
  readonly misrouted: Message[] = []
  /** Log messages that name this agent. */
  logs = 0

  private constructor(name: string, endpoint: Endpoint, capabilities: object, session?: string) {
    this.name = name
    this.#endpoint = endpoint
    this.#capabilities = capabilities
    this.#headers = {
      authorization: `Bearer ${endpoint.key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': session === undefined ? '2026-07-28' : '2025-11-25',
      ...(session !== undefined && { 'mcp-session-id': session }),
    }
  }

  static modern(name: string, endpoint: Endpoint, capabilities: object): AnsweringAgent {
    return new AnsweringAgent(name, endpoint, capabilities)
  }

  static async legacy(name: string, endpoint: Endpoint, capabilities: object): Promise<AnsweringAgent> {
    const { address, path, key } = endpoint
    const clientInfo = { name, version: '1' }
    const response = await fetch(address + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'initialize',
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities, clientInfo },
      }),
    })
    const body = (await response.json()) as Message
    if (body.error) throw new Error(body.error.message)
    const session = response.headers.get('mcp-session-id') ?? ''
    const agent = new AnsweringAgent(name, endpoint, capabilities, session)
    agent.initialized = body.result ?? {}
    await agent.notify('notifications/initialized')
    return agent
  }

  /** The result of the legacy handshake. */
  initialized: Readonly<Record<string, unknown>> = {}

  get #isModern(): boolean {
    return this.#headers['mcp-session-id'] === undefined
  }

  /** Calls a tool, answers its questions, and returns the text of its result. */
  async call(name: string, args: object = {}, more: object = {}): Promise<string> {
    const { result, error } = await this.request('tools/call', { name, arguments: args, ...more })
    const [first] = (result?.content ?? []) as { text?: string }[]
    return first?.text ?? JSON.stringify({ refused: error })
  }

  async request(method: string, params: object = {}): Promise<Message> {
    this.#lastId += 1
    const id = this.#lastId
    const _meta = {
      [`${META}/protocolVersion`]: '2026-07-28',
      [`${META}/clientInfo`]: { name: this.name, version: '1' },
      [`${META}/clientCapabilities`]: this.#capabilities,
      [`${META}/logLevel`]: 'info',
    }
    const sent = { jsonrpc: '2.0', id, method, params: this.#isModern ? { ...params, _meta } : params }
    const named = (params as { name?: string }).name
    const headers = {
      ...this.#headers,
      ...(this.#isModern && { 'mcp-method': method, ...(named !== undefined && { 'mcp-name': named }) }),
    }
    const message = await this.#exchange(sent, headers)
    const { inputRequests, requestState } = message.result ?? {}
    if (!isObject(inputRequests)) return message
    const answers = Object.entries(inputRequests).map(([key, asked]) => [key, this.#answer(asked as Message)])
    return this.request(method, { ...params, inputResponses: Object.fromEntries(answers), requestState })
  }

  notify(method: string, params: object = {}): Promise<Response> {
    return this.#post({ jsonrpc: '2.0', method, params }, this.#headers)
  }

  async end(): Promise<void> {
    await fetch(this.#endpoint.address + this.#endpoint.path, { method: 'DELETE', headers: this.#headers })
  }

  #post(message: object, headers: Record<string, string>): Promise<Response> {
    const { address, path } = this.#endpoint
    return fetch(address + path, { method: 'POST', headers, body: JSON.stringify(message) })
  }

  /** Reads the response. Questions on its stream are answered. */
  async #exchange(sent: { id: number }, headers: Record<string, string>): Promise<Message> {
    const response = await this.#post(sent, headers)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
      return (await response.json()) as Message
    let rest = ''
    let found: Message | undefined
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const events = (rest + part).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = /^data: ?(\S.*)$/m.exec(event)?.[1]
        const message: Message = data === undefined ? {} : JSON.parse(data)
        if (message.method === undefined && message.id === sent.id) found = message
        else if (message.method === 'notifications/message') this.#record(message)
        else if (message.id !== undefined && message.method !== undefined)
          void this.#post({ jsonrpc: '2.0', id: message.id, result: this.#answer(message) }, this.#headers)
      }
    }
    return found ?? {}
  }

  #record(message: Message): void {
    if (JSON.stringify(message.params).includes(`"${this.name}"`)) this.logs += 1
    else this.misrouted.push(message)
  }

  #answer(message: Message): object {
    const { method, params } = message
    const isMine = method === 'roots/list' || JSON.stringify(params).includes(`"${this.name}"`)
    if (!isMine) this.misrouted.push(message)
    if (method === 'roots/list') return { roots: [{ uri: `file:///${this.name}`, name: this.name }] }
    if (method === 'elicitation/create') return { action: 'accept', content: { name: this.name } }
    return { role: 'assistant', model: 'm', content: { type: 'text', text: this.name } }
  }
}
