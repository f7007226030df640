/** One line of a stream, without its newline. What did not fit is gone: `cut` says how many bytes that were. */
export interface Frame {
  /** May share memory with the chunk it came in: decode it now, or copy it to keep it. */
  readonly bytes: Buffer
  readonly cut: number
}

export const LOG_LINE_MAX_BYTES = 64 * 1024
export const MESSAGE_MAX_BYTES = 10 * 1024 * 1024

const LF = 0x0a
const CR = 0x0d
const NOTHING = Buffer.alloc(0)
const FIRST_ROOM = 1024

/**
 * Splits a stream at newlines without ever holding more than `maxBytes`. Works on bytes, so a character that arrives
 * in two chunks is whole again in its frame. A `\r` before the newline is dropped; an empty line is an empty frame.
 */
export class Frames {
  readonly #maxBytes: number
  readonly #onFrame: (frame: Frame) => void
  /** The kept beginning of the unfinished frame: `#kept` bytes of `#room` are in use. */
  #room: Buffer = NOTHING
  #kept = 0
  /** All bytes of the unfinished frame, kept or not, and the last of them. */
  #seen = 0
  #last = 0

  constructor(maxBytes: number, onFrame: (frame: Frame) => void) {
    this.#maxBytes = maxBytes
    this.#onFrame = onFrame
  }

  /** Memory held for the unfinished frame. */
  get heldBytes(): number {
    return this.#room.length
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const line = chunk.subarray(start, end)
      start = end + 1
      if (this.#seen === 0) this.#emit(line, line.length, line.at(-1))
      else this.#finish(line)
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start))
  }

  /** The stream is over: what came after the last newline is a frame too. */
  end(): void {
    if (this.#seen > 0) this.#finish(NOTHING)
  }

  #finish(rest: Buffer): void {
    this.#keep(rest)
    const [bytes, seen, last] = [this.#room.subarray(0, this.#kept), this.#seen, this.#last]
    // The frame now belongs to its receiver, and the state is clean before a receiver that may throw.
    this.#room = NOTHING
    this.#kept = 0
    this.#seen = 0
    this.#emit(bytes, seen, last)
  }

  #emit(bytes: Buffer, seen: number, last: number | undefined): void {
    const length = last === CR ? seen - 1 : seen
    const kept = Math.min(bytes.length, length, this.#maxBytes)
    this.#onFrame({ bytes: bytes.subarray(0, kept), cut: length - kept })
  }

  #keep(part: Buffer): void {
    const taken = Math.min(part.length, this.#maxBytes - this.#kept)
    if (taken > 0) {
      this.#makeRoom(this.#kept + taken)
      part.copy(this.#room, this.#kept, 0, taken)
      this.#kept += taken
    }
    this.#seen += part.length
    this.#last = part.at(-1) ?? this.#last
  }

  /** Doubling keeps the copying linear; a list of chunks would not bound the memory of a million tiny ones. */
  #makeRoom(needed: number): void {
    if (needed <= this.#room.length) return
    const size = Math.min(this.#maxBytes, Math.max(needed, this.#room.length * 2, FIRST_ROOM))
    const bigger = Buffer.allocUnsafeSlow(size)
    this.#room.copy(bigger, 0, 0, this.#kept)
    this.#room = bigger
  }
}
