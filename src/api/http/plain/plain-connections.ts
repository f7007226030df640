import { channel } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { HttpListener, HttpRequest } from '../../../kernel/http/http-types.ts'
import { PlainResponse } from './plain-response.ts'
import { type RequestHead, RequestHeads } from './request-head.ts'

interface Deps {
  /** The listener of a `LaterRoute` changes when it is open. */
  readonly route: {
    readonly takes: (url: string) => boolean
    readonly listener: HttpListener
    /** Whether a request may have a body, by its head. */
    readonly opens: (request: HttpRequest) => boolean
  }
  /** Whether the gate lets the request in. */
  readonly admits: (request: HttpRequest) => boolean
  /** node:http serves the connection from now on. */
  readonly handOver: (socket: Socket) => void
  /** The client has closed its side in the middle of a request. */
  readonly onCut: (socket: Socket) => void
  readonly onServing: (socket: Socket) => void
  readonly onIdle: (socket: Socket) => void
  /** It listens until the service is shutting down. */
  readonly server: { readonly listening: boolean }
  readonly keepAliveMs: number
}

/** For programs that watch the service. Node publishes the requests of node:http as `http.server.request.start`. */
const requestStart = channel('toolroom.http.request.start')
const TICK_MS = 1000
/** A connection that has sent nothing, or only a part of its first request, is handed over after this time. */
const MAX_WAIT_TICKS = 2
/** What is read before the response to the last request. More of it is left in the socket, and read slowly. */
const EARLY_BYTES = 64 * 1024
/** Beyond this nothing is read, so that a disconnect is not noticed either. */
const MAX_EARLY_BYTES = 1024 * 1024
/** Of all bodies that arrive in parts. Others are left to node:http, which does not read ahead. */
const MAX_ARRIVING_BYTES = 32 * 1024 * 1024
/** A request in more parts is handed over, because each part needs memory of its own. */
const MAX_PARTS = 64

/**
 * Serves connections that send plain POST requests for one route. It does not use node:http, which takes a third of the CPU
 * time of a small tool call. The first request of any other kind hands the connection over to node:http, together with all
 * bytes that have no response yet. So no rule of HTTP is implemented twice.
 */
export class PlainConnections {
  readonly #deps: Deps
  readonly #open = new Set<PlainConnection>()
  readonly #arriving = { bytes: 0 }
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  add(socket: Socket): void {
    const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${this.#deps.keepAliveMs / 1000}\r\n`
    const connection = new PlainConnection(socket, this.#deps, keepAlive, this.#arriving, () =>
      this.#remove(connection),
    )
    this.#open.add(connection)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref()
  }

  closeIdle(): void {
    for (const connection of this.#open) connection.closeIfIdle()
  }

  closeAll(): void {
    for (const connection of this.#open) connection.close()
  }

  #tick(): void {
    const keepTicks = this.#deps.keepAliveMs / TICK_MS
    for (const connection of this.#open) connection.tick(keepTicks)
  }

  #remove(connection: PlainConnection): void {
    this.#open.delete(connection)
    if (this.#open.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

class PlainConnection {
  readonly #socket: Socket
  readonly #deps: Deps
  readonly #keepAlive: string
  readonly #onGone: () => void
  /** The bodies of all connections that have not arrived completely. */
  readonly #arriving: { bytes: number }
  readonly #heads = new RequestHeads()
  /** The headers that the gate has let in last. A request with the same ones is let in without asking it again. */
  #admitted: RequestHead['headers'] | undefined
  #response: PlainResponse | undefined
  /** The head of a request whose body has not arrived completely. */
  #head: RequestHead | undefined
  #parts: Buffer[] = []
  #received = 0
  /** What was sent before the response to the last request. */
  #early: Buffer[] | undefined
  #earlyBytes = 0
  #hasServed = false
  #idleTicks = 0

  constructor(
    socket: Socket,
    deps: Deps,
    keepAlive: string,
    arriving: { bytes: number },
    onGone: () => void,
  ) {
    this.#arriving = arriving
    this.#socket = socket
    this.#deps = deps
    this.#keepAlive = keepAlive
    this.#onGone = onGone
    socket
      .on('data', this.#onData)
      .on('end', this.#onEnd)
      .on('error', this.#onError)
      .on('close', this.#onClose)
  }

  /** Called every second. */
  tick(keepTicks: number): void {
    if (this.#response) {
      // Only reading shows that the client has disconnected.
      if (this.#earlyBytes >= EARLY_BYTES && this.#earlyBytes < MAX_EARLY_BYTES) this.#socket.resume()
      return
    }
    this.#idleTicks += 1
    if (this.#hasServed && this.#received === 0) {
      if (this.#idleTicks > keepTicks) this.close()
    } else if (this.#idleTicks >= MAX_WAIT_TICKS) this.#handOver()
  }

  closeIfIdle(): void {
    if (!this.#response && this.#received === 0) this.close()
  }

  close(): void {
    this.#socket.destroy()
  }

  #onData = (chunk: Buffer): void => {
    if (this.#response) {
      this.#early ??= []
      this.#early.push(chunk)
      this.#earlyBytes += chunk.length
      if (this.#earlyBytes >= EARLY_BYTES) this.#socket.pause()
    } else if (this.#received === 0) this.#begin(chunk)
    else this.#continue(chunk)
  }

  #begin(chunk: Buffer): void {
    const head = this.#heads.read(chunk)
    const isTaken = head !== undefined && this.#deps.route.takes(head.url)
    if (isTaken && head.end === chunk.length) {
      this.#serve(head, chunk)
      return
    }
    this.#parts = [chunk]
    this.#received = chunk.length
    if (isTaken && head.end > chunk.length && this.#mayArrive(head)) this.#head = head
    else this.#handOver() // another kind of request, or more than one
  }

  /** Whether a body that arrives in parts is kept: only of a request that will be served. */
  #mayArrive(head: RequestHead): boolean {
    const { url, headers, rawHeaders, end } = head
    const request = { method: 'POST', url, headers, rawHeaders, socket: this.#socket }
    if (this.#arriving.bytes + end > MAX_ARRIVING_BYTES) return false
    if (!this.#deps.admits(request) || !this.#deps.route.opens(request)) return false
    this.#arriving.bytes += end
    return true
  }

  #continue(chunk: Buffer): void {
    this.#parts.push(chunk)
    this.#received += chunk.length
    const isTooMuch = !this.#head || this.#received > this.#head.end || this.#parts.length > MAX_PARTS
    if (isTooMuch) this.#handOver()
    else if (this.#received === this.#head?.end) this.#serve(this.#head, Buffer.concat(this.#parts))
  }

  #serve(head: RequestHead, bytes: Buffer): void {
    const { url, headers, rawHeaders } = head
    const body = bytes.subarray(head.start)
    const request = { method: 'POST', url, headers, rawHeaders, socket: this.#socket, body }
    if (headers !== this.#admitted) {
      if (!this.#deps.admits(request)) {
        this.#parts = [bytes]
        this.#handOver() // the refusal is written there
        return
      }
      this.#admitted = headers
    }
    this.#clear()
    this.#hasServed = true
    this.#deps.onServing(this.#socket)
    this.#response = new PlainResponse(this.#socket, this.#keepAlive, this.#onResponseEnd)
    if (requestStart.hasSubscribers) requestStart.publish({ request, response: this.#response })
    this.#deps.route.listener(request, this.#response)
  }

  #clear(): void {
    if (this.#head) this.#arriving.bytes -= this.#head.end
    this.#head = undefined
    if (this.#parts.length > 0) this.#parts = []
    this.#received = 0
    this.#idleTicks = 0
  }

  #onResponseEnd = (): void => {
    this.#response = undefined
    if (this.#socket.destroyed) return
    this.#deps.onIdle(this.#socket)
    const early = this.#early && Buffer.concat(this.#early)
    this.#early = undefined
    this.#earlyBytes = 0
    if (!this.#deps.server.listening) this.#socket.destroySoon()
    else if (early) {
      this.#socket.resume()
      this.#onData(early)
    }
  }

  /** node:http reads everything that has no response yet. */
  #handOver(): void {
    const socket = this.#socket
    socket
      .off('data', this.#onData)
      .off('end', this.#onEnd)
      .off('error', this.#onError)
      .off('close', this.#onClose)
    const bytes = Buffer.concat(this.#parts)
    this.#clear()
    this.#onGone()
    this.#deps.handOver(socket)
    if (bytes.length > 0) socket.unshift(bytes)
  }

  /** The client has closed its side. As node:http does, nothing more is sent. */
  #onEnd = (): void => {
    if (this.#received > 0) this.#deps.onCut(this.#socket)
    this.#socket.end()
  }

  #onError = (): void => {
    this.#socket.destroy()
  }

  #onClose = (): void => {
    this.#clear()
    this.#onGone()
    this.#response?.disconnected()
  }
}
