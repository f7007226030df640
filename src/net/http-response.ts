import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { MESSAGE_MAX_BYTES } from '../protocol/frames.ts'
import { RemoteFailure, tooLarge } from './http-failure.ts'
import { networkFailure } from './network-failure.ts'

/** The head of an answer, and its body as it comes. Somebody must read it, discard it or end it. */
export class HttpAnswer {
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
    response.on('error', () => {}) // whoever reads is told by `chunks`
  }

  /** Without its parameters, in lower case; '' when there is none. */
  get contentType(): string {
    return (this.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  }

  /** The body, decompressed. Rejects with a RemoteFailure, or with what `end` was called with. */
  async *chunks(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const chunk of await decoded(this.#response, this.url.host)) yield chunk
    } catch (error) {
      throw this.#ended ?? networkFailure(error, this.url, 'body')
    }
    if (this.#ended) throw this.#ended
  }

  /** All of it. Stops as soon as it is more than `maxBytes`, counted after decompression. */
  async read(maxBytes = MESSAGE_MAX_BYTES): Promise<Buffer> {
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of this.chunks()) {
      bytes += part.length
      if (bytes > maxBytes) throw tooLarge(this.url.host, 'The answer', maxBytes)
      parts.push(part)
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
  }

  /** Not wanted. A short rest is let through, so that the connection can be used again. */
  discard(): void {
    this.#response.resume()
    this.expire()
  }

  /** What is wanted has come. Whoever reads goes on to the end, which must be near. */
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
    const hint = 'Switch the compression of the server off, or to gzip, deflate or br'
    throw new RemoteFailure(
      'protocol_error',
      `${host} compresses its answer in a way that was not asked for`,
      hint,
    )
  }
  pipeline(response, decoder, () => {}) // whoever reads the decoder is told
  return decoder
}

async function decoderFor(encoding: string, response: IncomingMessage) {
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip()
  if (encoding === 'br') return createBrotliDecompress()
  if (encoding !== 'deflate') return undefined
  return (await hasZlibHeader(response)) ? createInflate() : createInflateRaw()
}

/** `deflate` means two formats, and servers send both. The first byte tells them apart. */
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
