import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { RemoteFailure, tooLarge } from './http-failure.ts'
import { networkFailure } from './network-failure.ts'

/** Status and headers of a response, and its body as a stream. Callers must read, discard or end the body. */
export class HttpResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly url: URL
  readonly #response: IncomingMessage
  #ended: Error | undefined
  #expires = false

  constructor(response: IncomingMessage, url: URL) {
    this.#response = response
    this.status = response.statusCode ?? 0
    this.headers = response.headers
    this.url = url
    response.on('error', () => {}) // `chunks` throws it
  }

  /** In lower case and without parameters; '' without the header. */
  get contentType(): string {
    return (this.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  }

  /** The decompressed body. Rejects with a RemoteFailure, or with the reason given to `end`. */
  async *chunks(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const chunk of await decoded(this.#response, this.url.host)) yield chunk
    } catch (error) {
      throw this.#ended ?? networkFailure(error, this.url, 'body')
    }
    if (this.#ended) throw this.#ended
  }

  /** The whole body. Fails as soon as it exceeds `maxBytes`, counted after decompression. */
  async read(maxBytes: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of this.chunks()) {
      bytes += part.length
      if (bytes > maxBytes) throw tooLarge(this.url.host, 'The response', maxBytes)
      parts.push(part)
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
  }

  /** Skips the body. A short rest is read to its end, so that the connection can be reused. */
  discard(): void {
    this.#response.resume()
    this.expire()
  }

  /** Closes the connection unless the body ends shortly. A reader continues until then. */
  expire(): void {
    if (this.#expires) return
    this.#expires = true
    const timer = setTimeout(() => this.#response.destroy(), DISCARD_MS)
    this.#response.once('close', () => clearTimeout(timer))
  }

  end(reason: Error): void {
    this.#ended ??= reason
    this.#response.destroy(reason)
  }
}

const DISCARD_MS = 500

async function decoded(response: IncomingMessage, host: string): Promise<Readable> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') return response
  const decoder = await decoderFor(encoding, response)
  if (!decoder) {
    response.destroy()
    const message = `The response from ${host} has a Content-Encoding that was not offered`
    const hint = "Turn off the server's compression, or set it to gzip, deflate or br"
    throw new RemoteFailure('protocol_error', message, hint)
  }
  pipeline(response, decoder, () => {}) // errors reach the reader of the decoder
  return decoder
}

/** Loads zlib on demand: agents wait for `toolroom connect` to start, and it rarely needs zlib. */
async function decoderFor(encoding: string, response: IncomingMessage) {
  const zlib = process.getBuiltinModule('node:zlib')
  if (encoding === 'gzip' || encoding === 'x-gzip') return zlib.createGunzip()
  if (encoding === 'br') return zlib.createBrotliDecompress()
  if (encoding !== 'deflate') return undefined
  return (await hasZlibHeader(response)) ? zlib.createInflate() : zlib.createInflateRaw()
}

/** `deflate` names two formats, and servers send both. The first byte tells them apart. */
async function hasZlibHeader(response: IncomingMessage): Promise<boolean> {
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off('readable', done).off('close', done)
      resolve()
    }
    response.on('readable', done).on('close', done)
  })
  const head: Buffer | null = response.read()
  if (head === null) return true
  response.unshift(head)
  return ((head[0] ?? 0) & 0x0f) === 8
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status)

/**
 * The next URL to request within the same origin; undefined when the response is not a redirect. Other origins are
 * refused because the configured headers belong to this one. A POST stays a POST, also on 301 and 302: these redirect
 * `/mcp` to `/mcp/`, and a GET would be a different request. A 303 refers to a page for GET, which is not MCP.
 */
export function sameOriginTarget(
  method: string,
  { status, headers, url: from }: HttpResponse,
): URL | undefined {
  if (!isRedirect(status)) return undefined
  const to = locationOf(headers.location, from)
  if (to === undefined) {
    const hint = 'Check the URL: the server behind it is not set up as an MCP endpoint'
    const message = `${from.host} redirects without a valid Location header`
    throw new RemoteFailure('protocol_error', message, hint, { status })
  }
  if (to.origin !== from.origin) {
    const message = `${from.host} redirects to another origin (${originOf(to)}), which must not receive this server's headers`
    const hint = "If you trust that address, use it as the server's URL"
    throw new RemoteFailure('redirect_refused', message, hint, { status })
  }
  if (status === 303 && method !== 'GET') {
    const hint = 'Check that the URL is an MCP endpoint; a login page often redirects like this'
    throw new RemoteFailure('redirect_refused', `${from.host} redirects to a page`, hint, { status })
  }
  return to
}

/** The next URL to request, on any origin but never from https to http. A redirect without Location is a plain response. */
export function anyOriginTarget({ status, headers, url: from }: HttpResponse): URL | undefined {
  if (!isRedirect(status) || headers.location === undefined) return undefined
  const to = locationOf(headers.location, from)
  if (to?.protocol === 'https:' || (to?.protocol === 'http:' && from.protocol === 'http:')) return to
  const message = `${from.host} redirects to an address that cannot be followed`
  throw new RemoteFailure('redirect_refused', message, 'Check the URL', { status })
}

function locationOf(location: string | undefined, from: URL): URL | undefined {
  if (location === undefined || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from)
  to.username = ''
  to.password = ''
  return to
}

/** Without path and query, which may repeat a secret from the requested URL. */
function originOf({ protocol, host }: URL): string {
  return /^https?:$/.test(protocol) ? `${protocol}//${host}` : protocol
}
