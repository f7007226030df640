import type { Readable } from 'node:stream'

/** One line of a stream, without its newline. */
export interface Line {
  readonly bytes: Buffer
  /** The number of bytes that were dropped because they exceed the limit. */
  readonly cut: number
  /** `bytes` share memory with the chunk: decode them now, or copy them to keep them. */
  readonly borrowed: boolean
}

export const LOG_LINE_MAX_BYTES = 64 * 1024
export const MESSAGE_MAX_BYTES = 10 * 1024 * 1024

const LF = 0x0a
const CR = 0x0d
const NOTHING = Buffer.alloc(0)
const FIRST_ROOM = 1024
/** From this size on a part is kept as a reference, and copied once when its line is complete. */
const LARGE_PART = 16 * 1024
const TURN_MS = 3

/**
 * Splits a stream at newlines and never holds more than `maxBytes`. Works on bytes, so a character that is split over two
 * chunks is complete in its line. A `\r` before the newline is dropped.
 */
export class LineSplitter {
  readonly #maxBytes: number
  readonly #onLine: (line: Line) => void
  /** The kept bytes of the unfinished line: references to large parts, then `#used` bytes of `#room`. */
  #parts: Buffer[] = []
  #room: Buffer = NOTHING
  #used = 0
  #kept = 0
  /** The number of all bytes of the unfinished line, kept or not, and the last byte. */
  #seen = 0
  #last = 0

  constructor(maxBytes: number, onLine: (line: Line) => void) {
    this.#maxBytes = maxBytes
    this.#onLine = onLine
  }

  /** Memory held for the unfinished line. */
  get heldBytes(): number {
    return this.#parts.reduce((sum, { length }) => sum + length, this.#room.length)
  }

  /** Returns the number of bytes that were read. Stops after a line when `isDone` returns true. */
  push(chunk: Buffer, isDone: () => boolean = never): number {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const line = chunk.subarray(start, end)
      start = end + 1
      if (this.#seen === 0) this.#emit(line, line.length, line.at(-1), true)
      else this.#finish(line)
      if (isDone()) return start
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start))
    return chunk.length
  }

  /** The stream has ended. Bytes after the last newline are a line, too. */
  end(): void {
    if (this.#seen > 0) this.#finish(NOTHING)
  }

  #finish(rest: Buffer): void {
    this.#keep(rest)
    const room = this.#room.subarray(0, this.#used)
    const bytes = this.#parts.length === 0 ? room : Buffer.concat([...this.#parts, room], this.#kept)
    const [seen, last] = [this.#seen, this.#last]
    // The state is reset first, because the receiver owns `bytes` from now on and may throw.
    this.#parts = []
    this.#room = NOTHING
    this.#used = 0
    this.#kept = 0
    this.#seen = 0
    this.#emit(bytes, seen, last, false)
  }

  #emit(bytes: Buffer, seen: number, last: number | undefined, borrowed: boolean): void {
    const length = last === CR ? seen - 1 : seen
    const kept = Math.min(bytes.length, length, this.#maxBytes)
    this.#onLine({ bytes: bytes.subarray(0, kept), cut: length - kept, borrowed })
  }

  #keep(part: Buffer): void {
    const taken = Math.min(part.length, this.#maxBytes - this.#kept)
    if (taken > 0) {
      if (taken >= LARGE_PART) this.#keepPart(part.subarray(0, taken))
      else {
        this.#makeRoom(this.#used + taken)
        part.copy(this.#room, this.#used, 0, taken)
        this.#used += taken
      }
      this.#kept += taken
    }
    this.#seen += part.length
    this.#last = part.at(-1) ?? this.#last
  }

  #keepPart(part: Buffer): void {
    if (this.#used > 0) this.#parts.push(this.#room.subarray(0, this.#used))
    this.#parts.push(part)
    this.#room = NOTHING
    this.#used = 0
  }

  /** Doubling keeps the copying linear. A list of chunks would not bound the memory of a million tiny chunks. */
  #makeRoom(needed: number): void {
    if (needed <= this.#room.length) return
    const size = Math.min(this.#maxBytes, Math.max(needed, this.#room.length * 2, FIRST_ROOM))
    const bigger = Buffer.allocUnsafeSlow(size)
    this.#room.copy(bigger, 0, 0, this.#used)
    this.#room = bigger
  }
}

const never = () => false

/**
 * Reads a stream in lines, for at most 3 ms per turn of the event loop. One turn can bring 2 MiB of short lines, which
 * would block all other work. The rest is read in the next turn, and the stream is paused until then.
 */
export class LineReader {
  readonly #stream: Readable
  readonly #splitter: LineSplitter
  readonly #waiting: Buffer[] = []
  #reading = false
  #turn: NodeJS.Immediate | undefined
  #turnEndsAt = 0

  constructor(stream: Readable, maxBytes: number, onLine: (line: Line) => void) {
    this.#stream = stream
    this.#splitter = new LineSplitter(maxBytes, onLine)
    stream.on('data', (chunk: Buffer) => {
      this.#waiting.push(chunk)
      const isOneLine = chunk.indexOf(LF) === chunk.length - 1
      if (isOneLine && !this.#turn) this.#read(never)
      else this.#takeTurn()
    })
    stream.on('end', () => this.#finish())
    stream.on('close', () => this.#finish()) // a destroyed stream emits no 'end'
  }

  #takeTurn(): void {
    if (!this.#turn) {
      this.#turnEndsAt = performance.now() + TURN_MS
      this.#turn = setImmediate(() => {
        this.#turn = undefined
        if (this.#waiting.length > 0) this.#takeTurn()
        else if (this.#stream.isPaused()) this.#stream.resume()
      })
    }
    this.#read(() => performance.now() >= this.#turnEndsAt)
  }

  /** Chunks that arrive during a read, or while the stream is paused (at the end of a process), are read in order. */
  #read(isDone: () => boolean): void {
    if (this.#reading) return
    this.#reading = true
    try {
      for (let chunk = this.#waiting.shift(); chunk; chunk = this.#waiting.shift()) {
        const taken = this.#splitter.push(chunk, isDone)
        if (taken === chunk.length) continue
        this.#waiting.unshift(chunk.subarray(taken))
        this.#stream.pause()
        return
      }
    } finally {
      this.#reading = false
    }
  }

  #finish(): void {
    this.#read(never)
    this.#splitter.end()
  }
}
