const BODY_MAX_BYTES = 4 * 1024 * 1024

/** @returns the parsed value, or undefined if it is not JSON */
export async function readJson(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_MAX_BYTES) return undefined
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}

export function refuse(response, status, code, message, id, data) {
  sendJson(response, status, { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } })
}

export function sendJson(response, status, message, headers = {}) {
  if (response.headersSent) return response.end()
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(message))
}

/** The response to a POST is plain JSON, unless a message precedes it: then it becomes a stream. */
export class Reply {
  #response
  #headers
  #statusOf

  constructor(response, { headers = {}, statusOf = () => 200 } = {}) {
    this.#response = response
    this.#headers = headers
    this.#statusOf = statusOf
  }

  /** Sends a message before the response. */
  event(message) {
    openStream(this.#response, this.#headers)
    writeEvent(this.#response, message)
  }

  /** Sends the response. */
  end(message) {
    if (!this.#response.headersSent)
      return sendJson(this.#response, this.#statusOf(message), message, this.#headers)
    writeEvent(this.#response, message)
    this.#response.end()
  }
}

export function openStream(response, headers = {}) {
  if (response.headersSent) return
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    ...headers,
  })
  response.flushHeaders()
}

export const writeEvent = (response, message) =>
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
