import { PassThrough, type Readable } from 'node:stream'

const HEADER_BYTES = 8
const STDERR = 2

/**
 * Splits the output of a container into its two streams. A frame is 8 bytes (which stream, then the length of what
 * follows) and bytes of that stream. Parts of a frame are passed on as they arrive, so the memory does not depend on its
 * length. The source is paused while one of the streams is not read.
 */
export class OutputFrames {
  readonly output = new PassThrough()
  readonly errors = new PassThrough()
  readonly #source: Readable
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerBytes = 0
  #current: PassThrough = this.output
  #left = 0
  #full = 0

  constructor(source: Readable, head: Buffer) {
    this.#source = source
    if (head.length > 0) this.#add(head)
    source.on('data', (chunk: Buffer) => this.#add(chunk))
    const end = () => {
      this.output.end()
      this.errors.end()
    }
    source.once('end', end)
    source.once('close', end)
    source.on('error', () => {}) // 'close' follows
  }

  #add(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) rest = rest.subarray(this.#left > 0 ? this.#pass(rest) : this.#readHeader(rest))
  }

  /** @returns how many bytes belong to the current frame */
  #pass(bytes: Buffer): number {
    const part = bytes.subarray(0, this.#left)
    this.#left -= part.length
    const stream = this.#current
    if (!stream.write(part) && stream.listenerCount('drain') === 0) {
      this.#full += 1
      this.#source.pause()
      stream.once('drain', () => {
        this.#full -= 1
        if (this.#full === 0) this.#source.resume()
      })
    }
    return part.length
  }

  #readHeader(bytes: Buffer): number {
    const copied = bytes.copy(this.#header, this.#headerBytes, 0, HEADER_BYTES - this.#headerBytes)
    this.#headerBytes += copied
    if (this.#headerBytes === HEADER_BYTES) {
      this.#headerBytes = 0
      this.#current = this.#header[0] === STDERR ? this.errors : this.output
      this.#left = this.#header.readUInt32BE(4)
    }
    return copied
  }
}
