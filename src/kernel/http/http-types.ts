import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'

/** What a request is judged by. `IncomingMessage` is one. */
export interface HttpRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Names and values alternate. */
  readonly rawHeaders: readonly string[]
  readonly socket: Pick<Socket, 'localAddress' | 'remoteAddress'>
}

/** A request that has arrived as a whole. */
export interface WholeRequest extends HttpRequest {
  readonly body: Buffer
}

/** A request whose body is still to be read, or that has arrived as a whole. */
export type AnyRequest = IncomingMessage | WholeRequest

/** What the gateway needs of a response. `ServerResponse` is one. */
export interface HttpResponse {
  readonly destroyed: boolean
  readonly headersSent: boolean
  /** Bytes that the client has not received yet. */
  readonly writableLength: number
  writeHead(status: number, headers?: OutgoingHttpHeaders): this
  flushHeaders(): void
  write(part: string | Buffer): boolean
  end(part?: string | Buffer, encoding?: BufferEncoding): unknown
  cork(): void
  uncork(): void
  destroy(): unknown
  /** Called once: when the response has been sent, or when the connection is closed before. */
  on(event: 'close', listener: () => void): unknown
}

export type HttpListener = (request: AnyRequest, response: HttpResponse) => void
