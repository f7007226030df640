// Up to 2025-11-25: each session has its own process, so ids and tokens are passed through unchanged.
import { randomUUID } from 'node:crypto'
import { openStream, Reply, refuse, writeEvent } from './wire.mjs'

const ALWAYS_STANDALONE = /^notifications\/(tools|prompts|resources)\//

export class LegacySessions {
  #start
  #sessions = new Map()

  constructor(start) {
    this.#start = start
  }

  get = (id) => this.#sessions.get(id)

  open() {
    const session = new LegacySession(randomUUID(), this.#start())
    this.#sessions.set(session.id, session)
    return session
  }

  async close(session) {
    this.#sessions.delete(session.id)
    await session.end()
  }

  end = () => Promise.all([...this.#sessions.values()].map((session) => this.close(session)))
}

export async function answerLegacy(request, response, message, sessions) {
  const id = message?.id ?? null
  const given = request.headers['mcp-session-id']
  if (message?.method === 'initialize' && given === undefined) return sessions.open().ask(message, response)
  if (given === undefined) return refuse(response, 400, -32000, 'Missing Mcp-Session-Id header', id)
  const session = sessions.get(given)
  if (!session) return refuse(response, 404, -32001, 'Session not found', id)
  switch (request.method) {
    case 'POST':
      return message.method !== undefined && message.id !== undefined
        ? session.ask(message, response)
        : session.tell(message, response)
    case 'GET':
      return session.listen(response)
    case 'DELETE':
      await sessions.close(session)
      return response.writeHead(200).end()
    default:
      return refuse(response, 405, -32000, 'Only POST, GET and DELETE', id)
  }
}

class LegacySession {
  id
  #child
  /** Pending requests of the client, in order. */
  #open = new Map()
  #standalone

  constructor(id, child) {
    this.id = id
    this.#child = child
    child.onMessage = (message) => this.#pass(message)
  }

  ask(message, response) {
    const headers = message.method === 'initialize' ? { 'mcp-session-id': this.id } : {}
    const token = message.params?._meta?.progressToken
    this.#open.set(message.id, { reply: new Reply(response, { headers }), token })
    this.#child.send(message)
  }

  tell(message, response) {
    this.#child.send(message)
    response.writeHead(202).end()
  }

  listen(response) {
    if (this.#standalone)
      return refuse(response, 409, -32000, 'Only one stream per session is supported', null)
    this.#standalone = response
    response.on('close', () => {
      this.#standalone = undefined
    })
    openStream(response)
  }

  async end() {
    this.#standalone?.end()
    await this.#child.end()
  }

  #pass(message) {
    if (message.method === undefined) {
      const asked = this.#open.get(message.id)
      this.#open.delete(message.id)
      return asked?.reply.end(message)
    }
    const reply = this.#replyFor(message)
    if (reply) return reply.event(message)
    if (this.#standalone) writeEvent(this.#standalone, message)
  }

  /** On stdio a message does not name its request: progress has its token, the rest goes to the newest request. */
  #replyFor({ method, params }) {
    if (ALWAYS_STANDALONE.test(method)) return undefined
    const open = [...this.#open.values()]
    if (method !== 'notifications/progress') return open.at(-1)?.reply
    return open.find(({ token }) => token === params.progressToken)?.reply
  }
}
