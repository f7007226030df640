import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type WebSocket, WebSocketServer } from 'ws'
import { AppError } from '../../kernel/errors.ts'
import type { AccessToken, Guesses } from './auth.ts'

/** The part of a WebSocket that the live stream uses. */
interface TextSocket {
  send(text: string): void
  readonly unsentBytes: number
  close(code: number, reason: string): void
  onMessage(listener: (text: string | null) => void): void
  onClose(listener: () => void): void
}

/** A WebSocket endpoint. */
export interface Stream {
  readonly path: string
  readonly maxClients: number
  /** The number of the newest event. */
  readonly lastEvent: () => number
  hasRoom(): boolean
  open(socket: TextSocket): void
}

export interface UpgradeOptions {
  readonly stream: Stream
  readonly token: AccessToken
  readonly protectReads: boolean
  readonly guesses: Guesses
}

/** The reason to refuse a connection. A promise when the response has to wait. */
export type Refusal = AppError | Promise<AppError>

/** Accepts the connection, or returns the reason to refuse it. The gate has already checked it. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => Refusal | undefined

const MAX_MESSAGE_BYTES = 4096
const PING_EVERY_MS = 15_000
const ANSWER_WITHIN_MS = 2000
/** Memory that a queued frame uses in addition to its text. */
const BYTES_PER_FRAME = 512
/** A client that does not read does not complete the close handshake either. */
const CLOSE_TIMEOUT_MS = 2000
const SUBPROTOCOL = /^toolroom\.(.+)$/

export function createUpgrade({ stream, token, protectReads, guesses }: UpgradeOptions): Upgrade {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false, // it uses memory per connection, and loopback is fast
    handleProtocols: (offered) => [...offered].find((each) => SUBPROTOCOL.test(each)) ?? false,
  })
  return (request, socket, head) => {
    const path = (request.url ?? '').split('?')[0]?.replace(/(?<=.)\/$/, '')
    if (path !== stream.path)
      return new AppError('not_found', `${path?.slice(0, 200)} is not a WebSocket endpoint`)
    const malformed = malformedUpgrade(request)
    if (malformed) return malformed
    if (protectReads) {
      const given = offeredToken(request)
      if (given === undefined)
        return new AppError(
          'missing_token',
          "Missing authentication token in the subprotocol 'toolroom.<token>'",
        )
      if (!token.matches(given)) {
        const error = new AppError('invalid_token', 'Invalid authentication token')
        const delayMs = guesses.delayMs(request.socket.remoteAddress)
        return delayMs > 0 ? sleep(delayMs, error) : error
      }
    }
    if (!stream.hasRoom())
      return new AppError('too_many_clients', `Too many WebSocket connections (max ${stream.maxClients})`, {
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
  if (method !== 'GET') return new AppError('bad_request', 'A WebSocket must be opened with GET')
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

function textSocket(websocket: WebSocket): TextSocket {
  let waiting = 0
  const sent = () => {
    waiting -= 1 // also on an error, which closes the connection
  }
  websocket.on('error', () => {}) // a message too large, a broken frame: the connection is closed
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
      setTimeout(() => websocket.terminate(), CLOSE_TIMEOUT_MS).unref()
    },
    onMessage: (listener) =>
      void websocket.on('message', (data, isBinary) => listener(isBinary ? null : String(data))),
    onClose: (listener) => void websocket.once('close', () => listener()),
  }
}

/** Closes a connection that does not answer two pings in a row, which takes about half a minute. */
function keepAlive(websocket: WebSocket): void {
  let unanswered = 0
  websocket.on('pong', () => {
    unanswered = 0
  })
  const check = () => {
    if (unanswered >= 2) websocket.terminate()
  }
  const ping = () => {
    unanswered += 1
    websocket.ping()
    if (unanswered >= 2) setTimeout(check, ANSWER_WITHIN_MS).unref()
  }
  const timer = setInterval(ping, PING_EVERY_MS)
  websocket.once('close', () => clearInterval(timer))
}
