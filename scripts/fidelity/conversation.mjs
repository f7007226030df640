// What both clients have in common: the handshakes of the two eras, requests as text, and answers as they arrived.
import { memberOf, parseExact, stringOf } from './exact-json.mjs'

export const MODERN = '2026-07-28'
export const LEGACY = '2025-11-25'
const PREFIX = 'io.modelcontextprotocol'
const CLIENT_INFO = { name: 'fidelity', version: '1.0.0' }
const MAX_ROUNDS = 10

/** What a client can declare, and the answers that it gives to requests of a server. */
export const PROFILES = {
  plain: {},
  able: {
    roots: { listChanged: true },
    sampling: { tools: {}, context: {} },
    elicitation: { form: {}, url: {} },
    tasks: {
      list: {},
      cancel: {},
      requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
    },
    experimental: { 'com.example/odd': { deep: [1, null] } },
    extensions: { [`${PREFIX}/ui`]: { mimeTypes: ['text/html;profile=mcp-app'] } },
  },
}
const ANSWERS = {
  'roots/list': { roots: [{ uri: 'file:///fidelity', name: 'the root' }] },
  'sampling/createMessage': {
    role: 'assistant',
    content: { type: 'text', text: 'sampled' },
    model: 'none',
    stopReason: 'endTurn',
  },
  'elicitation/create': { action: 'decline' },
  ping: {},
}
/** They report that something changed, at a moment that is not determined. */
const UNTIMED = /\/list_changed$|^notifications\/(?:resources\/updated|tasks|cancelled|subscriptions)/

/** Subclasses have `send(text, request)` and call `receive(text)` and `lost(reason)`. */
export class Conversation {
  #waiting = new Map()
  #lost
  #lastId = 0
  #messages = []
  #deadlineMs

  constructor({ era, profile, deadlineMs = 20_000 }) {
    this.era = era
    this.capabilities = PROFILES[profile]
    this.#deadlineMs = deadlineMs
  }

  /** @returns the answer to `initialize` or `server/discover` */
  async open() {
    if (this.era === 'modern') return this.request('server/discover')
    const params = { protocolVersion: LEGACY, capabilities: this.capabilities, clientInfo: CLIENT_INFO }
    const answer = await this.request('initialize', JSON.stringify(params))
    if (answer.kind === 'result') await this.notify('notifications/initialized')
    return answer
  }

  async notify(method) {
    await this.send(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`, { method })
  }

  /**
   * `params` is the text of an object, `meta` becomes its `_meta`. Other messages may arrive after the answer: it waits until
   * `hasAll` returns true for those that have arrived, or for two seconds.
   * @returns `{ kind: 'result' | 'error' | 'none', text, id, messages: [{ method, text }] }`
   */
  async request(method, params = '{}', { meta, id, hasAll = () => true } = {}) {
    this.#messages = []
    let sent = params
    for (let round = 0; ; round += 1) {
      const answer = await this.#ask(method, withMeta(sent, { ...this.#envelope(), ...meta }), id)
      const more = round < MAX_ROUNDS ? this.#inputFor(answer) : undefined
      if (!more) {
        for (let n = 0; n < 40 && !hasAll(this.#messages); n += 1) await sleep(50)
        return { ...answer, messages: this.#messages }
      }
      sent = withFields(params, more)
    }
  }

  #ask(method, params, id) {
    this.#lastId += 1
    const idText = id ?? String(this.#lastId)
    return new Promise((resolve) => {
      const settle = (answer) => {
        clearTimeout(late)
        this.#waiting.delete(idText)
        resolve(answer)
      }
      const none = (why) => settle({ kind: 'none', text: JSON.stringify(why), id: idText })
      const late = setTimeout(() => none('no answer in time'), this.#deadlineMs)
      this.#waiting.set(idText, { settle, none })
      if (this.#lost) return none(this.#lost)
      const text = `{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)},"params":${params}}`
      this.send(text, { method, params, settle, none })
    })
  }

  lost(reason) {
    this.#lost = reason
    for (const { none } of this.#waiting.values()) none(reason)
  }

  /** `settle` is that of the request whose response carried this message, if there is one. */
  receive(text, settle) {
    const message = parseExact(text)
    const [id, method] = [memberOf(message, 'id'), stringOf(memberOf(message, 'method'))]
    if (method === undefined) {
      const kind = memberOf(message, 'result') ? 'result' : 'error'
      const answer = { kind, text: memberOf(message, kind)?.text ?? 'null', id: id?.text }
      const waiting = settle ?? this.#waiting.get(id?.text)?.settle
      return waiting?.(answer)
    }
    if (UNTIMED.test(method)) return
    this.#messages.push({ method, text: memberOf(message, 'params')?.text ?? '{}' })
    if (id)
      void this.send(
        `{"jsonrpc":"2.0","id":${id.text},${JSON.stringify(this.#answerTo(method)).slice(1)}`,
        {},
      )
  }

  #answerTo(method) {
    const capability = method.split('/')[0]
    if (ANSWERS[method] && (method === 'ping' || this.capabilities[capability]))
      return { result: ANSWERS[method] }
    return { error: { code: -32601, message: 'Method not found' } }
  }

  /** The fields of the next request, if a modern server requires input. */
  #inputFor({ kind, text }) {
    if (kind !== 'result' || !text.includes('input_required')) return undefined
    const { resultType, inputRequests = {}, requestState } = JSON.parse(text)
    if (resultType !== 'input_required') return undefined
    const inputResponses = {}
    for (const [key, { method }] of Object.entries(inputRequests)) {
      const asked = memberOf(memberOf(memberOf(parseExact(text), 'inputRequests'), key), 'params')
      this.#messages.push({ method, text: asked?.text ?? '{}' })
      inputResponses[key] = ANSWERS[method]
    }
    return { inputResponses, ...(requestState !== undefined && { requestState }) }
  }

  #envelope() {
    if (this.era !== 'modern') return undefined
    return {
      [`${PREFIX}/protocolVersion`]: MODERN,
      [`${PREFIX}/clientInfo`]: CLIENT_INFO,
      [`${PREFIX}/clientCapabilities`]: this.capabilities,
    }
  }
}

const withMeta = (params, meta) =>
  Object.keys(meta).length > 0 ? withFields(params, { _meta: meta }) : params

/** Adds fields to the text of an object and leaves the rest of the text as it is. Anything else cannot have fields. */
function withFields(text, fields) {
  if (!text.startsWith('{')) return text
  const rest = text.slice(1)
  return `${JSON.stringify(fields).slice(0, -1)}${/^\s*\}$/.test(rest) ? '' : ','}${rest}`
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
