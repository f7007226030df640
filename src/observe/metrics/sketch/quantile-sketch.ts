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
    if (other.count === 0) return true
    this.count -= other.count
    this.sum -= other.sum
    this.#zeros -= other.#zeros
    if (this.#zeros < 0 || this.count < 0 || !this.#buckets.subtract(other.#buckets)) return false
    if (this.count === 0) {
      Object.assign(this, { sum: 0, min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY })
      return true
    }
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

/** From this many buckets on, counts are stored as a row, if at least every fourth place of it is used. */
const ROW_FROM = 24
const MAX_PLACES_PER_BUCKET = 4
/** Extra places when a row grows, so that it does not grow with every new extreme. */
const SPARE = 32

/**
 * Counts by bucket number. Most series have few different values: they are stored as a sorted list of bucket, count,
 * bucket, count … Many values are stored as a row with one place for every bucket.
 */
class Buckets {
  #list: number[] = []
  #row: Float64Array | undefined
  /** The bucket of the first place in the row. */
  #base = 0

  add(bucket: number, count: number): void {
    const row = this.#row
    if (!row) this.#addToList(bucket, count)
    else if (bucket >= this.#base && bucket < this.#base + row.length) {
      row[bucket - this.#base] = (row[bucket - this.#base] as number) + count
    } else {
      this.#growRow(bucket, bucket)
      this.add(bucket, count)
    }
  }

  merge(other: Buckets): void {
    if (!other.#row) {
      const list = other.#list
      if (!this.#row && this.#list.length === 0) this.#list = list.slice()
      else for (let at = 0; at < list.length; at += 2) this.add(list[at] as number, list[at + 1] as number)
      return
    }
    const { row, base } = this.#asRow(other.#base, other.#base + other.#row.length - 1)
    const shift = other.#base - base
    const added = other.#row
    for (let at = 0; at < added.length; at += 1)
      row[at + shift] = (row[at + shift] as number) + (added[at] as number)
  }

  /** Undoes a merge. Returns false when `other` was not merged before. */
  subtract(other: Buckets): boolean {
    let fits = true
    other.each((bucket, count) => {
      if (this.#count(bucket) < count) fits = false
      else this.add(bucket, -count)
    })
    if (!this.#row) this.#list = withoutEmpty(this.#list)
    return fits
  }

  /** The bucket of the value with this rank, counted from the lowest. */
  atRank(rank: number): number | undefined {
    let passed = 0
    const row = this.#row
    if (row) {
      for (let at = 0; at < row.length; at += 1) {
        passed += row[at] as number
        if (passed >= rank) return this.#base + at
      }
      return undefined
    }
    for (let at = 0; at < this.#list.length; at += 2) {
      passed += this.#list[at + 1] as number
      if (passed >= rank) return this.#list[at]
    }
    return undefined
  }

  /** Visits the non-empty buckets, lowest first. */
  each(visit: (bucket: number, count: number) => void): void {
    const row = this.#row
    if (!row) {
      for (let at = 0; at < this.#list.length; at += 2)
        visit(this.#list[at] as number, this.#list[at + 1] as number)
      return
    }
    for (let at = 0; at < row.length; at += 1) {
      const count = row[at] as number
      if (count !== 0) visit(this.#base + at, count)
    }
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
    if (!this.#row) return this.#list.length / 2
    let size = 0
    for (const count of this.#row) if (count !== 0) size += 1
    return size
  }

  get total(): number {
    let total = 0
    this.each((_, count) => {
      total += count
    })
    return total
  }

  #count(bucket: number): number {
    if (this.#row) return this.#row[bucket - this.#base] ?? 0
    const place = this.#find(bucket)
    return this.#list[place] === bucket ? (this.#list[place + 1] as number) : 0
  }

  #addToList(bucket: number, count: number): void {
    const list = this.#list
    const place = this.#find(bucket)
    if (list[place] === bucket) list[place + 1] = (list[place + 1] as number) + count
    else {
      if (place === list.length) list.push(bucket, count)
      else list.splice(place, 0, bucket, count)
      const range = (list[list.length - 2] as number) - (list[0] as number)
      if (list.length >= 2 * ROW_FROM && range < (list.length / 2) * MAX_PLACES_PER_BUCKET)
        this.#asRow(list[0] as number, bucket)
    }
  }

  /** The position of the bucket in the list, or where to insert it. */
  #find(bucket: number): number {
    const list = this.#list
    let low = 0
    let high = list.length >> 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((list[middle << 1] as number) < bucket) low = middle + 1
      else high = middle
    }
    return low << 1
  }

  /** Converts to a row that covers at least `low` to `high`. */
  #asRow(low: number, high: number): { readonly row: Float64Array; readonly base: number } {
    const list = this.#list
    if (!this.#row) {
      const last = list.length > 0 ? (list[list.length - 2] as number) : high
      this.#base = Math.min(low, list[0] ?? low)
      this.#row = new Float64Array(Math.max(high, last) - this.#base + 1)
      for (let at = 0; at < list.length; at += 2)
        this.#row[(list[at] as number) - this.#base] = list[at + 1] as number
      this.#list = []
    }
    return { row: this.#growRow(low, high), base: this.#base }
  }

  #growRow(low: number, high: number): Float64Array {
    const row = this.#row ?? new Float64Array(0)
    const end = this.#base + row.length - 1
    if (low >= this.#base && high <= end) return row
    const base = low < this.#base ? low - SPARE : this.#base
    const grown = new Float64Array((high > end ? high + SPARE : end) - base + 1)
    grown.set(row, this.#base - base)
    this.#base = base
    this.#row = grown
    return grown
  }
}

function withoutEmpty(list: number[]): number[] {
  const left: number[] = []
  for (let at = 0; at < list.length; at += 2)
    if (list[at + 1] !== 0) left.push(list[at] as number, list[at + 1] as number)
  return left.length === list.length ? list : left
}
