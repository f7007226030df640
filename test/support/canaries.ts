import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Generates unique secrets, and finds them where they must not be. */
export class Canaries {
  /** The strings to search for, in lower case, by the location of the secret. */
  readonly #traces = new Map<string, readonly string[]>()
  #index: TraceIndex | undefined

  /**
   * A new secret of letters and digits. `where` names it in a finding. Its beginning and its end are searched
   * separately too, because V8 quotes ten characters around a JSON error.
   */
  make(where: string, prefix = ''): string {
    const random = randomBytes(60)
      .toString('base64')
      .replace(/[^A-Za-z0-9]/g, '')
    const secret = `${prefix}a1${random.slice(0, 34)}`
    this.#add(where, [secret.slice(prefix.length, prefix.length + 10), secret.slice(-10), inBase64(secret)])
    return secret
  }

  /** A short secret without the look of a key. */
  word(where: string): string {
    const secret = `a1${randomBytes(6).toString('hex')}`
    this.keep(where, secret)
    return secret
  }

  /** Adds a given secret, such as the token. It is searched as a whole. */
  keep(where: string, secret: string): void {
    this.#add(where, [secret, inBase64(secret)])
  }

  #add(where: string, traces: readonly string[]): void {
    this.#traces.set(
      where,
      traces.map((trace) => trace.toLowerCase()),
    )
    this.#index = undefined
  }

  /** One sentence for each secret that the text contains, whole or in part. */
  in(place: string, content: string): string[] {
    this.#index ??= new TraceIndex([...this.#traces.values()].flat())
    const traces = this.#index.in(content.toLowerCase())
    const found = [...this.#traces].filter(([, own]) => own.some((trace) => traces.has(trace)))
    return found.map(([where]) => `${place} contains the secret from ${where}`)
  }

  /** The same for every byte of every file below a folder. */
  inFiles(folder: string): string[] {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    return files.flatMap(({ parentPath, name }) =>
      this.in(`the file ${name}`, readFileSync(join(parentPath, name), 'latin1')),
    )
  }
}

/** Finds many strings in one pass: a hash of four characters selects those that may begin there. */
class TraceIndex {
  readonly #byStart = new Map<number, string[]>()
  readonly #isStart = new Uint8Array(HASHES)

  constructor(traces: readonly string[]) {
    for (const trace of traces) {
      if (trace.length < HASHED) throw new Error('A secret is too short to be searched for')
      let hash = 0
      for (let at = 0; at < HASHED; at += 1) hash = hashed(hash, trace.charCodeAt(at))
      this.#isStart[hash] = 1
      this.#byStart.set(hash, [...(this.#byStart.get(hash) ?? []), trace])
    }
  }

  in(text: string): Set<string> {
    const found = new Set<string>()
    let hash = 0
    for (let at = 0; at < text.length; at += 1) {
      hash = hashed(hash, text.charCodeAt(at))
      if (this.#isStart[hash] === 0) continue
      for (const trace of this.#byStart.get(hash) ?? [])
        if (text.startsWith(trace, at - HASHED + 1)) found.add(trace)
    }
    return found
  }
}

const HASHED = 4
const BITS = 5
const HASHES = 1 << (HASHED * BITS)
/** Older characters are shifted out of it. */
const hashed = (hash: number, code: number): number => ((hash << BITS) ^ code) & (HASHES - 1)

/** The part of its base64 form that does not depend on the preceding bytes: the first two characters do. */
const inBase64 = (secret: string): string => Buffer.from(secret).toString('base64').slice(4, -4)
