import { type OutgoingHttpHeaders, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpResponse } from '../../../kernel/http/http-types.ts'

const VALUE = /^[\t -~]*$/
const LAST_CHUNK = '0\r\n\r\n'

/** The response to a plain request, written to the socket as node:http would write it. */
export class PlainResponse implements HttpResponse {
  readonly #socket: Socket
  readonly #keepAlive: string
  readonly #onEnd: () => void
  #onClose: (() => void)[] | undefined
  /** Status line and headers, until they are sent. */
  #head: string | undefined
  #isChunked = false
  #isEnded = false
  headersSent = false

  /** `keepAlive`: the headers that say how long the connection stays open. */
  constructor(socket: Socket, keepAlive: string, onEnd: () => void) {
    this.#socket = socket
    this.#keepAlive = keepAlive
    this.#onEnd = onEnd
  }

  get destroyed(): boolean {
    return this.#isEnded || this.#socket.destroyed
  }

  get writableLength(): number {
    return this.#isEnded ? 0 : this.#socket.writableLength
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    if (this.headersSent) throw new Error('The headers have been sent already')
    this.headersSent = true
    let lines = ''
    for (const name in headers) lines += `${name}: ${checked(headers[name])}\r\n`
    this.#isChunked = headers['content-length'] === undefined
    this.#head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}Date: ${httpDate()}\r\n${this.#keepAlive}`
    return this
  }

  flushHeaders(): void {
    if (!this.headersSent) this.writeHead(200)
    if (this.#head !== undefined) this.#socket.write(this.#takeHead(), 'latin1')
  }

  write(part: string | Buffer): boolean {
    if (this.destroyed) return false
    if (!this.headersSent) this.writeHead(200)
    if (!this.#isChunked) {
      this.flushHeaders()
      return this.#socket.write(part)
    }
    const length = Buffer.byteLength(part)
    if (length === 0) return true // it would be the last chunk
    this.#socket.cork()
    this.#socket.write(`${this.#takeHead()}${length.toString(16)}\r\n`, 'latin1')
    this.#socket.write(part)
    const isBelowLimit = this.#socket.write('\r\n', 'latin1')
    this.#socket.uncork()
    return isBelowLimit
  }

  end(part: string | Buffer = '', encoding?: BufferEncoding): this {
    if (this.#isEnded) return this
    if (!this.#socket.destroyed) this.#finish(part, encoding)
    this.#close()
    this.#onEnd()
    return this
  }

  cork(): void {
    this.#socket.cork()
  }

  uncork(): void {
    this.#socket.uncork()
  }

  destroy(): this {
    if (!this.#isEnded) this.#socket.destroy()
    return this
  }

  on(_: 'close', listener: () => void): this {
    this.#onClose ??= []
    this.#onClose.push(listener)
    return this
  }

  /** The connection was closed before the end of the response. */
  disconnected(): void {
    if (!this.#isEnded) this.#close()
  }

  #finish(part: string | Buffer, encoding: BufferEncoding | undefined): void {
    if (!this.headersSent) this.writeHead(200)
    if (this.#isChunked && this.#head !== undefined) this.#measure(part, encoding)
    if (this.#isChunked) {
      this.write(part)
      this.#socket.write(LAST_CHUNK, 'latin1')
    } else if (typeof part === 'string' && (part === '' || encoding === 'latin1')) {
      const text = this.#takeHead() + part
      if (text !== '') this.#socket.write(text, 'latin1')
    } else {
      this.#socket.cork()
      this.flushHeaders()
      this.#socket.write(part, encoding)
      this.#socket.uncork()
    }
  }

  /** A response that ends with its first part has a length instead of chunks. */
  #measure(part: string | Buffer, encoding: BufferEncoding | undefined): void {
    this.#isChunked = false
    const length = typeof part === 'string' ? Buffer.byteLength(part, encoding) : part.length
    this.#head += `Content-Length: ${length}\r\n`
  }

  #takeHead(): string {
    if (this.#head === undefined) return ''
    const head = `${this.#head}${this.#isChunked ? 'Transfer-Encoding: chunked\r\n' : ''}\r\n`
    this.#head = undefined
    return head
  }

  #close(): void {
    this.#isEnded = true
    if (this.#onClose) process.nextTick(callAll, this.#onClose)
  }
}

function callAll(listeners: readonly (() => void)[]): void {
  for (const listener of listeners) listener()
}

/** Header values are ours; a line break in one of them would end the head. */
function checked(value: OutgoingHttpHeaders[string]): OutgoingHttpHeaders[string] {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && VALUE.test(value)) return value
  throw new Error('A header has a character that is not printable ASCII')
}

/** Computed once per second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    date = new Date(second * 1000).toUTCString()
  }
  return date
}
let dateSecond = 0
let date = ''
