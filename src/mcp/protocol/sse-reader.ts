import { MESSAGE_MAX_BYTES } from './line-splitter.ts'

export interface SseEvent {
  /** `message` unless the server sent a name. */
  readonly event: string
  /** The lines of data, joined with newlines. The receiver owns the buffer. */
  readonly data: Buffer
}

export class EventTooLargeError extends Error {
  override readonly name = 'EventTooLargeError'
}

/**
 * Reads text/event-stream from chunks that may be split anywhere. Only the fields of the current event are kept: comments
 * and unknown fields may be endless.
 */
export class SseReader {
  readonly #onEvent: (event: SseEvent) => void
  readonly maxBytes: number
  readonly #data: Bytes
  readonly #name = new Bytes(MAX_NAME_BYTES)
  readonly #value = new Bytes(MAX_VALUE_BYTES)
  #place: 'name' | 'space' | 'value' = 'name'
  #field: Field = 'other'
  #hasData = false
  #event = ''
  #id: string | undefined
  #afterCr = false
  #bomBytes = 0
  /** The id to resume from when the stream is interrupted. Set at the end of each event, with or without data. */
  lastEventId: string | undefined
  /** The time to wait before reconnecting, as requested by the server. */
  retryMs: number | undefined

  constructor(onEvent: (event: SseEvent) => void, maxBytes = MESSAGE_MAX_BYTES) {
    this.#onEvent = onEvent
    this.maxBytes = maxBytes
    this.#data = new Bytes(maxBytes)
  }

  /** Throws an EventTooLargeError, after which the reader is unusable. An event without its final blank line is ignored. */
  push(chunk: Buffer): void {
    let at = this.#start(chunk)
    let [cr, lf] = [-1, -1]
    while (at < chunk.length) {
      if (cr < at) cr = indexOr(chunk, CR, at) // searched again only when passed, not for every line
      if (lf < at) lf = indexOr(chunk, LF, at)
      const end = Math.min(cr, lf)
      this.#take(chunk.subarray(at, end))
      if (end === chunk.length) return
      this.#endLine()
      at = end + 1
      if (end === lf) continue
      if (at === chunk.length) this.#afterCr = true
      else if (chunk[at] === LF) at += 1
    }
  }

  /** Skips a newline that belongs to the preceding return, and the byte order mark at the start of the stream. */
  #start(chunk: Buffer): number {
    let at = 0
    if (this.#afterCr && chunk.length > 0) {
      this.#afterCr = false
      if (chunk[0] === LF) at = 1
    }
    while (this.#bomBytes < BOM.length && at < chunk.length) {
      if (chunk[at] !== BOM[this.#bomBytes]) {
        this.#bomBytes = BOM.length
        break
      }
      this.#bomBytes += 1
      at += 1
    }
    return at
  }

  #take(part: Buffer): void {
    let rest = part
    if (this.#place === 'name') {
      const colon = rest.indexOf(COLON)
      this.#name.add(colon < 0 ? rest : rest.subarray(0, colon))
      if (colon < 0) return
      this.#beginValue()
      rest = rest.subarray(colon + 1)
    }
    if (this.#place === 'space' && rest.length > 0) {
      this.#place = 'value'
      if (rest[0] === SPACE) rest = rest.subarray(1)
    }
    if (rest.length === 0) return
    if (this.#field === 'data') this.#keepData(rest)
    else if (this.#field !== 'other') this.#value.add(rest)
  }

  #beginValue(): void {
    this.#place = 'space'
    const name = this.#name.text() ?? ''
    this.#field = name === 'data' || name === 'event' || name === 'id' || name === 'retry' ? name : 'other'
    if (this.#field !== 'data') return
    if (this.#hasData) this.#keepData(NEWLINE)
    this.#hasData = true
  }

  #keepData(part: Buffer): void {
    this.#data.add(part)
    if (this.#data.isTruncated)
      throw new EventTooLargeError(`The event is larger than ${this.maxBytes} bytes`)
  }

  #endLine(): void {
    if (this.#place === 'name') {
      if (this.#name.isEmpty) {
        this.#dispatch()
        return
      }
      this.#beginValue() // a line without a colon is a field with an empty value
    }
    if (this.#field !== 'data' && this.#field !== 'other') this.#endField(this.#field)
    this.#place = 'name'
  }

  #endField(field: 'event' | 'id' | 'retry'): void {
    const text = this.#value.text()
    if (text === undefined) return
    if (field === 'event') this.#event = text
    else if (field === 'id' && !text.includes('\0')) this.#id = text
    else if (field === 'retry' && /^\d{1,9}$/.test(text)) this.retryMs = Number(text)
  }

  #dispatch(): void {
    const event = { event: this.#event || 'message', data: this.#data.take() }
    this.lastEventId = this.#id
    this.#hasData = false
    this.#event = ''
    if (event.data.length > 0) this.#onEvent(event)
  }
}

type Field = 'data' | 'event' | 'id' | 'retry' | 'other'

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const NEWLINE = Buffer.from('\n')
const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const MAX_NAME_BYTES = 16
const MAX_VALUE_BYTES = 4096
const SMALLEST_BLOCK = 64
const LARGEST_BLOCK = 256 * 1024
const NOTHING = Buffer.alloc(0)

/** Collects bytes up to a limit. */
class Bytes {
  readonly #max: number
  /** Full blocks, and the one that is being filled. Nothing is copied until `take`, and tiny parts need no extra memory. */
  #blocks: Buffer[] = []
  #block: Buffer = NOTHING
  #filled = 0
  #length = 0
  /** Bytes beyond the limit were dropped. */
  isTruncated = false

  constructor(max: number) {
    this.#max = max
  }

  get isEmpty(): boolean {
    return this.#length === 0 && !this.isTruncated
  }

  add(part: Buffer): void {
    this.#length += part.length
    if (this.#length > this.#max) this.isTruncated = true
    if (this.isTruncated) return
    for (let at = 0; at < part.length; ) {
      if (this.#filled === this.#block.length) this.#nextBlock(part.length - at)
      const taken = part.copy(this.#block, this.#filled, at)
      this.#filled += taken
      at += taken
    }
  }

  /** Returns the collected bytes, which the caller owns from then on, and starts over. */
  take(): Buffer {
    const last = this.#block.subarray(0, this.#filled)
    const bytes = this.#blocks.length === 0 ? last : Buffer.concat([...this.#blocks, last], this.#length)
    this.#blocks = []
    this.#block = NOTHING
    this.#filled = 0
    this.#length = 0
    return bytes
  }

  /** Like `take`, decoded. Undefined when bytes were dropped. */
  text(): string | undefined {
    const { isTruncated } = this
    this.isTruncated = false
    const text = this.take().toString('utf8')
    return isTruncated ? undefined : text
  }

  /** Each block is twice as large as the one before, so short events take little memory and long ones few blocks. */
  #nextBlock(needed: number): void {
    if (this.#filled > 0) this.#blocks.push(this.#block)
    const size = Math.min(LARGEST_BLOCK, Math.max(needed, this.#block.length * 2, SMALLEST_BLOCK))
    this.#block = Buffer.allocUnsafeSlow(size)
    this.#filled = 0
  }
}

function indexOr(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from)
  return at < 0 ? chunk.length : at
}
