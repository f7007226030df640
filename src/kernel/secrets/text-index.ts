import { MASK } from './mask-secrets.ts'

/** Shorter texts are not known: they would match ordinary words. */
export const MIN_LENGTH = 8

/** Marks where a text was cut. */
const CUT = '…'

/** Odd, so that every character of a text changes its hash. */
const BASE = 0x2c1b3c6d
const SPREAD = 0x9e3779b1
const FIRST_SLOTS = 256
const SLOTS_PER_TEXT = 8

/** Texts of one length that have the same beginning. */
interface Length {
  readonly length: number
  readonly power: number
  count: number
}

/** The texts of `length` to twice as many characters. */
interface Tier {
  readonly length: number
  readonly power: number
  /** By the hash of the first `length` characters, the longest first. */
  readonly groups: Map<number, Length[]>
}

/**
 * Known texts, to mask them wherever they appear. Adding or removing one does not touch the others, and the time for a text
 * depends on its own length, not on how many texts are known: each of its positions is looked up by the hash of what follows.
 */
export class TextIndex {
  /** How often each text was added. */
  readonly #counts = new Map<string, number>()
  /** By the hash of the whole text. */
  readonly #texts = new Map<number, string[]>()
  /** By the hash of their first 8 characters. */
  readonly #byStart = new Map<number, Set<string>>()
  /** Those of the longest texts first. */
  readonly #tiers: Tier[] = []
  /** How many texts begin with 8 characters of a slot. Most positions of a text are passed over by one look into it. */
  #starts = new Uint32Array(FIRST_SLOTS)
  #shift = shiftFor(FIRST_SLOTS)

  add(text: string): void {
    const count = this.#counts.get(text) ?? 0
    this.#counts.set(text, count + 1)
    if (count > 0) return
    if (this.#counts.size * SLOTS_PER_TEXT > this.#starts.length) this.#growStarts()
    else this.#countStart(text, 1)
    const tier = this.#tierOf(text)
    const hash = hashOf(text, tier.length)
    const lengths = tier.groups.get(hash)
    const known = lengths?.find(({ length }) => length === text.length)
    if (known) known.count += 1
    else {
      const added = { length: text.length, power: powerOf(text.length), count: 1 }
      tier.groups.set(
        hash,
        [...(lengths ?? []), added].sort((a, b) => b.length - a.length),
      )
    }
    const whole = hashOf(text, text.length)
    this.#texts.set(whole, [...(this.#texts.get(whole) ?? []), text])
    const start = hashOf(text, MIN_LENGTH)
    const others = this.#byStart.get(start)
    if (others) others.add(text)
    else this.#byStart.set(start, new Set([text]))
  }

  /** A text that was added several times stays until it was deleted as often. */
  delete(text: string): void {
    const count = this.#counts.get(text)
    if (count === undefined) return
    if (count > 1) {
      this.#counts.set(text, count - 1)
      return
    }
    this.#counts.delete(text)
    this.#countStart(text, -1)
    const tier = this.#tierOf(text)
    const hash = hashOf(text, tier.length)
    const lengths = tier.groups.get(hash) ?? []
    const known = lengths.find(({ length }) => length === text.length)
    if (known) known.count -= 1
    setOrDelete(
      tier.groups,
      hash,
      lengths.filter((each) => each.count > 0),
    )
    if (tier.groups.size === 0) this.#tiers.splice(this.#tiers.indexOf(tier), 1)
    const whole = hashOf(text, text.length)
    const others = this.#texts.get(whole)?.filter((each) => each !== text) ?? []
    setOrDelete(this.#texts, whole, others)
    const start = hashOf(text, MIN_LENGTH)
    const alike = this.#byStart.get(start)
    alike?.delete(text)
    if (alike?.size === 0) this.#byStart.delete(start)
  }

  /** The text with every known one masked, also where they overlap, and where `…` stands for the rest of one. */
  mask(text: string): string {
    if (this.#counts.size === 0 || text.length < MIN_LENGTH) return text
    let out = ''
    /** The end of what is masked so far. */
    let done = 0
    let sums: Int32Array | undefined
    let cutAt = text.indexOf(CUT)
    let start = hashOf(text, MIN_LENGTH)
    const [starts, shift] = [this.#starts, this.#shift]
    for (let at = 0; ; at += 1) {
      // Not a function of its own, which would run for every character of every call.
      if (starts[Math.imul(start, SPREAD) >>> shift] !== 0) {
        sums ??= sumsOf(text)
        while (cutAt !== -1 && cutAt < at + MIN_LENGTH) cutAt = text.indexOf(CUT, cutAt + 1)
        const length = this.#longestAt(text, at, sums, done) || this.#unfinishedAt(text, at, cutAt, start)
        if (length > 0 && at + length > done) {
          if (at >= done) out += text.slice(done, at) + MASK
          done = at + length
        }
      }
      const next = at + MIN_LENGTH
      if (next >= text.length) break
      start =
        (Math.imul(start - Math.imul(text.charCodeAt(at), FIRST_POWER), BASE) + text.charCodeAt(next)) | 0
    }
    return done === 0 ? text : out + text.slice(done)
  }

  /** The length of the longest known text at a position, 0 if there is none. */
  #longestAt(text: string, at: number, sums: Int32Array, masked: number): number {
    for (const { length, power, groups } of this.#tiers) {
      if (at + length > text.length) continue
      for (const each of groups.get(hashIn(sums, at, length, power)) ?? []) {
        if (at + each.length > text.length) continue
        const known = this.#texts.get(hashIn(sums, at, each.length, each.power))
        // Inside what is masked, the hash decides: comparing a long text with itself at every position would be quadratic.
        if (known && (at < masked || known.some((one) => text.startsWith(one, at)))) return each.length
      }
    }
    return 0
  }

  /** The length of what is left of a known text. */
  #unfinishedAt(text: string, at: number, cutAt: number, start: number): number {
    const alike = cutAt === -1 ? undefined : this.#byStart.get(start)
    for (const one of alike ?? []) {
      let end = cutAt
      // One of its own says nothing: the last one may be that of the cut.
      for (let next = end; next !== -1 && one[end - at] === CUT; next = text.indexOf(CUT, end + 1)) end = next
      const length = end - at
      if (one.length > length && text.startsWith(one.slice(0, length), at)) return length
    }
    return 0
  }

  #tierOf(text: string): Tier {
    const length = 2 ** Math.floor(Math.log2(text.length))
    const known = this.#tiers.find((tier) => tier.length === length)
    if (known) return known
    const tier = { length, power: powerOf(length), groups: new Map() }
    this.#tiers.push(tier)
    this.#tiers.sort((a, b) => b.length - a.length)
    return tier
  }

  #countStart(text: string, by: 1 | -1): void {
    const slot = Math.imul(hashOf(text, MIN_LENGTH), SPREAD) >>> this.#shift
    this.#starts[slot] = (this.#starts[slot] ?? 0) + by
  }

  #growStarts(): void {
    this.#starts = new Uint32Array(this.#starts.length * 4)
    this.#shift = shiftFor(this.#starts.length)
    for (const text of this.#counts.keys()) this.#countStart(text, 1)
  }
}

/** The slot of a hash is in its highest bits. */
const shiftFor = (slots: number): number => 32 - Math.log2(slots)

function powerOf(exponent: number): number {
  let power = 1
  for (let base = BASE, left = exponent; left > 0; left >>>= 1, base = Math.imul(base, base))
    if (left & 1) power = Math.imul(power, base)
  return power
}
/** Of the first character of a beginning. */
const FIRST_POWER = powerOf(MIN_LENGTH - 1)

/** Of the first characters of a text. */
function hashOf(text: string, length: number): number {
  let hash = 0
  for (let at = 0; at < length; at += 1) hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0
  return hash
}

/** The hashes of all beginnings of a text. */
function sumsOf(text: string): Int32Array {
  const sums = new Int32Array(text.length + 1)
  let hash = 0
  for (let at = 0; at < text.length; at += 1) {
    hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0
    sums[at + 1] = hash
  }
  return sums
}

const hashIn = (sums: Int32Array, at: number, length: number, power: number): number =>
  ((sums[at + length] ?? 0) - Math.imul(sums[at] ?? 0, power)) | 0

function setOrDelete<T>(map: Map<number, readonly T[]>, key: number, list: T[]): void {
  if (list.length === 0) map.delete(key)
  else map.set(key, list)
}
