const START_BYTES = 256
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Writes varints: seven bits per byte, the highest bit is set when more bytes follow. */
export class ByteWriter {
  #bytes = new Uint8Array(START_BYTES)
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  /** An integer from 0 to 2^53. */
  varint(value: number): void {
    this.#reserve(8)
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) + 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  /** An integer of either sign. */
  signed(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value)
  }

  float(value: number): void {
    this.#reserve(8)
    this.#view.setFloat64(this.#length, value, true)
    this.#length += 8
  }

  text(value: string): void {
    const bytes = encoder.encode(value)
    this.varint(bytes.length)
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** Prefixes the written bytes with their length, so that a reader can skip them. At most 2 MiB. */
  part(write: () => void): void {
    this.#reserve(3)
    const start = this.#length
    this.#length += 3
    write()
    const length = this.#length - start - 3
    this.#bytes[start] = (length % 0x80) + 0x80
    this.#bytes[start + 1] = (Math.floor(length / 0x80) % 0x80) + 0x80
    this.#bytes[start + 2] = Math.floor(length / 0x4000)
  }

  done(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more))
    grown.set(this.#bytes)
    this.#bytes = grown
    this.#view = new DataView(grown.buffer)
  }
}

/** Reads the output of a ByteWriter. Throws a RangeError when the bytes end too early. */
export class ByteReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  varint(): number {
    let value = 0
    let unit = 1
    for (;;) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new RangeError('the bytes end within a number')
      if (byte < 0x80) return value + byte * unit
      value += (byte - 0x80) * unit
      unit *= 0x80
    }
  }

  signed(): number {
    const value = this.varint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  float(): number {
    const value = this.#view.getFloat64(this.#at, true)
    this.#at += 8
    return value
  }

  text(): string {
    const length = this.varint()
    const start = this.#at
    this.advance(length)
    return decoder.decode(this.#bytes.subarray(start, this.#at))
  }

  advance(length: number): void {
    if (this.#at + length > this.#bytes.length) throw new RangeError('the bytes end too early')
    this.#at += length
  }
}
