import type { ByteReader, ByteWriter } from './varint-bytes.ts'

/** Each bucket ends 2 % above the previous one, so its middle is within 1 % of every value in it. */
const GAMMA = 1.02
const PER_LOG = 1 / Math.log(GAMMA)
const MIDDLE = 2 / (1 + GAMMA)
/** Smaller values count as zero. With values in milliseconds, this is a nanosecond. */
const SMALLEST = 1e-6

/**
 * The distribution of values >= 0 in buckets that grow with the value. Every quantile is exact within 1 %, and merging
 * two sketches gives the sketch of all their values.
 */
export class Sketch {
  count = 0
  sum = 0
  min = Number.POSITIVE_INFINITY
  max = Number.NEGATIVE_INFINITY
  #zeros = 0
  #buckets = new Buckets()

  record(value: number): void {
    this.count += 1
    this.sum += value
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
    if (value < SMALLEST) this.#zeros += 1
    else this.#buckets.add(Math.ceil(Math.log(value) * PER_LOG), 1)
  }

  merge(other: Sketch): void {
    this.count += other.count
    this.sum += other.sum
    if (other.min < this.min) this.min = other.min
    if (other.max > this.max) this.max = other.max
    this.#zeros += other.#zeros
    this.#buckets.merge(other.#buckets)
  }

  /** Undoes a merge. Returns false when `other` was not merged before; the sketch is invalid then. */
  subtract(other: Sketch): boolean {
    this.count -= other.count
    this.sum -= other.sum
    this.#zeros -= other.#zeros
    if (this.#zeros < 0 || this.count < 0 || !this.#buckets.subtract(other.#buckets)) return false
    // The smallest and the largest remaining values are known only with the precision of their buckets.
    if (other.min <= this.min) this.min = this.#zeros > 0 ? 0 : middleOf(this.#buckets.atRank(1))
    if (other.max >= this.max) this.max = middleOf(this.#buckets.atRank(this.count - this.#zeros))
    return true
  }

  /** The smallest value that is not exceeded by at least the share `q` of all values; null without values. */
  quantile(q: number): number | null {
    if (this.count === 0) return null
    const rank = Math.max(1, Math.ceil(q * this.count - 1e-9))
    const value = rank <= this.#zeros ? 0 : middleOf(this.#buckets.atRank(rank - this.#zeros))
    return Math.min(Math.max(value, this.min), this.max)
  }

  /** How many values are at most `limit`. The bucket of the limit is counted as a whole or not at all. */
  countUpTo(limit: number): number {
    const last = Math.floor(Math.log(limit / MIDDLE) * PER_LOG)
    let total = this.#zeros
    this.#buckets.each((bucket, count) => {
      if (bucket <= last) total += count
    })
    return total
  }

  write(writer: ByteWriter): void {
    const constant = this.min === this.max && this.sum === this.min * this.count
    writer.varint(this.#buckets.size * 2 + (constant ? 1 : 0))
    writer.varint(this.#zeros)
    writer.float(this.min)
    if (!constant) {
      writer.float(this.max)
      writer.float(this.sum)
    }
    this.#buckets.write(writer)
  }

  static read(reader: ByteReader): Sketch {
    const sketch = new Sketch()
    const head = reader.varint()
    const constant = head % 2 === 1
    sketch.#zeros = reader.varint()
    sketch.min = reader.float()
    if (!constant) {
      sketch.max = reader.float()
      sketch.sum = reader.float()
    }
    sketch.#buckets = Buckets.read(reader, Math.floor(head / 2))
    sketch.count = sketch.#zeros + sketch.#buckets.total
    if (constant) {
      sketch.max = sketch.min
      sketch.sum = sketch.min * sketch.count
    }
    return sketch
  }
}

const middleOf = (bucket: number | undefined): number => (bucket === undefined ? 0 : GAMMA ** bucket * MIDDLE)

/** Counts by bucket number, as a sorted list of bucket, count, bucket, count … */
class Buckets {
  #list: number[] = []

  add(bucket: number, count: number): void {
    this.#addFrom(0, bucket, count)
  }

  merge(other: Buckets): void {
    const { length } = other.#list
    if (this.#list.length === 0) this.#list = other.#list.slice()
    else
      for (let at = 0, own = 0; at < length; at += 2)
        own = this.#addFrom(own, other.#list[at] as number, other.#list[at + 1] as number)
  }

  /** Undoes a merge. Returns false when `other` was not merged before. */
  subtract(other: Buckets): boolean {
    let fits = true
    other.each((bucket, count) => {
      const at = positionOf(bucket, this.#list, 0)
      const left = this.#list[at] === bucket ? (this.#list[at + 1] as number) - count : -1
      if (left < 0) fits = false
      else if (left === 0) this.#list.splice(at, 2)
      else this.#list[at + 1] = left
    })
    return fits
  }

  /** The bucket of the value with this rank, counted from the lowest. */
  atRank(rank: number): number | undefined {
    let passed = 0
    for (let at = 0; at < this.#list.length; at += 2) {
      passed += this.#list[at + 1] as number
      if (passed >= rank) return this.#list[at]
    }
    return undefined
  }

  /** Visits the buckets, lowest first. */
  each(visit: (bucket: number, count: number) => void): void {
    for (let at = 0; at < this.#list.length; at += 2)
      visit(this.#list[at] as number, this.#list[at + 1] as number)
  }

  write(writer: ByteWriter): void {
    let before = 0
    this.each((bucket, count) => {
      writer.signed(bucket - before)
      writer.varint(count)
      before = bucket
    })
  }

  /** `size` is the number of buckets. */
  static read(reader: ByteReader, size: number): Buckets {
    const buckets = new Buckets()
    let bucket = 0
    for (let left = size; left > 0; left -= 1) {
      bucket += reader.signed()
      buckets.#list.push(bucket, reader.varint())
    }
    return buckets
  }

  get size(): number {
    return this.#list.length / 2
  }

  get total(): number {
    let total = 0
    this.each((_, count) => {
      total += count
    })
    return total
  }

  /** Adds to a bucket at this position or after it. Returns the position of the bucket. */
  #addFrom(first: number, bucket: number, count: number): number {
    const list = this.#list
    const at = positionOf(bucket, list, first)
    if (at === list.length) list.push(bucket, count)
    else if (list[at] === bucket) list[at + 1] = (list[at + 1] as number) + count
    else list.splice(at, 0, bucket, count)
    return at
  }
}

/** Where the bucket is in the list, or where to insert it. */
function positionOf(bucket: number, list: readonly number[], first: number): number {
  let low = first >> 1
  let high = list.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle << 1] as number) < bucket) low = middle + 1
    else high = middle
  }
  return low << 1
}
