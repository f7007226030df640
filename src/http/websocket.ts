import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { AppError } from '../kernel/errors.ts'

/** A connection as the room behind it sees it. */
interface TextSocket {
  send(text: string): void
  readonly unsentBytes: number
  close(code: number, reason: string): void
  onMessage(listener: (text: string | null) => void): void
  onClose(listener: () => void): void
}

/** What is offered over a WebSocket. */
export interface Stream {
  readonly path: string
  hasRoom(): boolean
  open(socket: TextSocket): void
}

export interface UpgradeOptions {
  readonly stream: Stream
  readonly token: string
  readonly protectReads: boolean
}

/** Takes the connection over, or says why not. The gate has let it in. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => AppError | undefined

const MAX_MESSAGE_BYTES = 4096
const PING_EVERY_MS = 15_000
const ANSWER_WITHIN_MS = 2000
/** What a frame that waits takes besides its text. */
const BYTES_PER_FRAME = 512
/** Whoever does not read does not read the reason either. */
const LAST_WORDS_MS = 2000
const SUBPROTOCOL = /^toolroom\.(.+)$/

export function createUpgrade({ stream, token, protectReads }: UpgradeOptions): Upgrade {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false, // it costs memory per connection, and loopback is fast
    handleProtocols: (offered) => [...offered].find((each) => SUBPROTOCOL.test(each)) ?? false,
  })
  const expected = digest(token)
  return (request, socket, head) => {
    const path = (request.url ?? '').split('?')[0]?.replace(/(?<=.)\/$/, '')
    if (path !== stream.path)
      return new AppError('not_found', `There is no WebSocket at ${path?.slice(0, 200)}`)
    const malformed = malformedUpgrade(request)
    if (malformed) return malformed
    if (protectReads) {
      const given = offeredToken(request)
      if (given === undefined)
        return new AppError(
          'missing_token',
          "Missing authentication token in the subprotocol 'toolroom.<token>'",
        )
      if (!timingSafeEqual(digest(given), expected))
        return new AppError('invalid_token', 'Invalid authentication token')
    }
    if (!stream.hasRoom())
      return new AppError('too_many_clients', 'There are as many listeners as Toolroom takes', {
        retryAfterS: 15,
      })
    server.handleUpgrade(request, socket, head, (websocket) => {
      keepAlive(websocket)
      stream.open(textSocket(websocket))
    })
    return undefined
  }
}

function malformedUpgrade({ method, headers }: IncomingMessage): AppError | undefined {
  if (method !== 'GET') return new AppError('bad_request', 'A WebSocket is opened with GET')
  if (headers['sec-websocket-version'] !== '13')
    return new AppError('bad_request', 'The WebSocket version must be 13')
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? ''))
    return new AppError('bad_request', 'Sec-WebSocket-Key is missing or malformed')
  return undefined
}

function offeredToken({ headers }: IncomingMessage): string | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim())
  return offered.map((each) => SUBPROTOCOL.exec(each)?.[1]).find((found) => found !== undefined)
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function textSocket(websocket: WebSocket): TextSocket {
  let waiting = 0
  const sent = () => {
    waiting -= 1 // also when it failed: the close says so
  }
  websocket.on('error', () => {}) // a message too large, a broken frame: the close that follows says so
  return {
    send: (text) => {
      waiting += 1
      websocket.send(text, sent)
    },
    get unsentBytes() {
      return websocket.bufferedAmount + waiting * BYTES_PER_FRAME
    },
    close: (code, reason) => {
      websocket.close(code, reason)
      setTimeout(() => websocket.terminate(), LAST_WORDS_MS).unref()
    },
    onMessage: (listener) =>
      void websocket.on('message', (data, isBinary) => listener(isBinary ? null : String(data))),
    onClose: (listener) => void websocket.once('close', () => listener()),
  }
}

/** Whoever leaves two pings in a row unanswered is gone, or does not read. That is known after half a minute. */
function keepAlive(websocket: WebSocket): void {
  let unanswered = 0
  websocket.on('pong', () => {
    unanswered = 0
  })
  const look = () => {
    if (unanswered >= 2) websocket.terminate()
  }
  const ping = () => {
    unanswered += 1
    websocket.ping()
    if (unanswered >= 2) setTimeout(look, ANSWER_WITHIN_MS).unref()
  }
  const timer = setInterval(ping, PING_EVERY_MS)
  websocket.once('close', () => clearInterval(timer))
}
