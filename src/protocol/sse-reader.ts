import { MESSAGE_MAX_BYTES } from './frames.ts'

export interface SseEvent {
  /** `message` unless the server named it. */
  readonly event: string
  /** The lines of its data, with a newline between them. Belongs to who receives it. */
  readonly data: Buffer
}

export class EventTooLargeError extends Error {
  override readonly name = 'EventTooLargeError'
}

/**
 * Reads text/event-stream from bytes that may be split anywhere. Data goes straight into the event that it belongs to, and
 * what nobody needs is not kept at all: comments and unknown fields may be endless.
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
  /** To go on from when the stream breaks; set at the end of an event, with or without data. */
  lastEventId: string | undefined
  /** How long the server wants us to wait before we come again. */
  retryMs: number | undefined

  constructor(onEvent: (event: SseEvent) => void, maxBytes = MESSAGE_MAX_BYTES) {
    this.#onEvent = onEvent
    this.maxBytes = maxBytes
    this.#data = new Bytes(maxBytes)
  }

  /** Throws an EventTooLargeError; the reader is of no use afterwards. What follows the last event is never told. */
  push(chunk: Buffer): void {
    let at = this.#start(chunk)
    let [cr, lf] = [-1, -1]
    while (at < chunk.length) {
      if (cr < at) cr = indexOr(chunk, CR, at) // each is looked for when it is passed, not once per line
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

  /** A newline that belongs to the return before it, and the mark that a stream may begin with. */
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
    if (this.#data.overflown) throw new EventTooLargeError(`an event is larger than ${this.maxBytes} bytes`)
  }

  #endLine(): void {
    if (this.#place === 'name') {
      if (this.#name.isEmpty) {
        this.#dispatch()
        return
      }
      this.#beginValue() // a name alone is a field without a value
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

/** Bytes in a row, up to a limit. What is too much is not kept, and known. */
class Bytes {
  readonly #max: number
  /** Full ones, and the one that is being filled: nothing is copied before it is taken, and tiny parts take no more. */
  #blocks: Buffer[] = []
  #block: Buffer = NOTHING
  #filled = 0
  #length = 0
  overflown = false

  constructor(max: number) {
    this.#max = max
  }

  get isEmpty(): boolean {
    return this.#length === 0 && !this.overflown
  }

  add(part: Buffer): void {
    this.#length += part.length
    if (this.#length > this.#max) this.overflown = true
    if (this.overflown) return
    for (let at = 0; at < part.length; ) {
      if (this.#filled === this.#block.length) this.#nextBlock(part.length - at)
      const taken = part.copy(this.#block, this.#filled, at)
      this.#filled += taken
      at += taken
    }
  }

  /** What is here now belongs to the caller. */
  take(): Buffer {
    const last = this.#block.subarray(0, this.#filled)
    const bytes = this.#blocks.length === 0 ? last : Buffer.concat([...this.#blocks, last], this.#length)
    this.#blocks = []
    this.#block = NOTHING
    this.#filled = 0
    this.#length = 0
    return bytes
  }

  /** Undefined when it was too much. Empty afterwards. */
  text(): string | undefined {
    const { overflown } = this
    this.overflown = false
    const text = this.take().toString('utf8')
    return overflown ? undefined : text
  }

  /** Larger with the length that is here already, from what a short event needs to what a long one deserves. */
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
