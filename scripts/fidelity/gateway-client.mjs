// A client without a library that talks to the gateway over Streamable HTTP.
import { request } from 'node:http'
import { Conversation, LEGACY, MODERN } from './conversation.mjs'
import { parseExact } from './exact-json.mjs'

/** The param that the header Mcp-Name repeats. */
const NAMED = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/cancel': 'taskId',
}

/** One client of `/mcp` or `/mcp/{server_id}`. */
export class GatewayClient extends Conversation {
  #url
  #key
  #session
  #stream

  constructor({ url, key }, options) {
    super(options)
    this.#url = url
    this.#key = key
  }

  async open() {
    const answer = await super.open()
    if (this.#session) await this.#listen()
    return answer
  }

  /** Resolves when the response has ended. */
  send(text, { method, params, settle, none }) {
    return new Promise((resolve) => {
      const sent = this.#request('POST', this.#headersFor(method, params), (response) => {
        this.#session ??= response.headers['mcp-session-id']
        this.#read(response, settle).then(resolve, (error) => {
          none?.(error.message)
          resolve()
        })
      })
      sent.on('error', (error) => {
        none?.(error.message)
        resolve()
      })
      sent.end(text)
    })
  }

  async close() {
    this.#stream?.destroy()
    if (!this.#session) return
    await new Promise((resolve) => {
      this.#request('DELETE', {}, (response) => response.resume().on('end', resolve))
        .on('error', resolve)
        .end()
    })
  }

  #request(method, headers, onResponse) {
    const session = this.#session && { 'mcp-session-id': this.#session, 'mcp-protocol-version': LEGACY }
    return request(
      this.#url,
      { method, agent: false, headers: { authorization: `Bearer ${this.#key}`, ...session, ...headers } },
      onResponse,
    )
  }

  #headersFor(method, params) {
    const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    if (this.era !== 'modern') return json
    const modern = { ...json, 'mcp-protocol-version': MODERN, 'mcp-method': method }
    const name = NAMED[method] && JSON.parse(params)[NAMED[method]]
    return typeof name === 'string' ? { ...modern, 'mcp-name': encoded(name) } : modern
  }

  /** The stream for messages that belong to no request. */
  #listen() {
    return new Promise((resolve, reject) => {
      this.#stream = this.#request('GET', { accept: 'text/event-stream' }, (response) => {
        this.#read(response).catch(() => undefined) // closed at the end
        resolve()
      })
      this.#stream.on('error', reject).end()
    })
  }

  async #read(response, settle) {
    const isStream = response.headers['content-type']?.startsWith('text/event-stream')
    let rest = ''
    for await (const text of response.setEncoding('utf8')) {
      rest += text
      if (!isStream) continue
      const events = rest.split('\n\n')
      rest = events.pop()
      for (const data of events.map(dataIn).filter(Boolean)) this.receive(data, settle)
    }
    if (isStream || rest === '') return
    if (settle) parseExact(rest) // throws if it is not JSON
    this.receive(rest, settle)
  }
}

const encoded = (name) =>
  /^[\x20-\x7e]+$/.test(name) && name === name.trim()
    ? name
    : `=?base64?${Buffer.from(name).toString('base64')}?=`

function dataIn(event) {
  const lines = event.split('\n').filter((line) => line.startsWith('data:'))
  return lines.map((line) => line.slice(5).trim()).join('\n')
}
