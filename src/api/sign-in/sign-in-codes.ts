import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const LIFETIME_MS = 60_000
const MAX_CODES = 20
const CODE_BYTES = 16

interface Issued {
  readonly digest: Buffer
  readonly expiresAt: number
}

/** Codes that open the dashboard once. Only their digests are kept, in memory. */
export class LoginCodes {
  readonly #clock: () => number
  #issued: readonly Issued[] = []

  /** `clock` is monotonic. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Returns the code and its lifetime. The oldest code is forgotten when there are too many. */
  issue(): { code: string; lifetimeMs: number } {
    const code = randomBytes(CODE_BYTES).toString('base64url')
    const issued = { digest: digestOf(code), expiresAt: this.#clock() + LIFETIME_MS }
    this.#issued = [...this.#valid(), issued].slice(-MAX_CODES)
    return { code, lifetimeMs: LIFETIME_MS }
  }

  /** True once for each code. Compares with every code in constant time. */
  redeem(code: string): boolean {
    const digest = digestOf(code)
    const valid = this.#valid()
    const others = valid.filter((issued) => !timingSafeEqual(issued.digest, digest))
    this.#issued = others
    return others.length < valid.length
  }

  clear(): void {
    this.#issued = []
  }

  #valid(): readonly Issued[] {
    const now = this.#clock()
    return this.#issued.filter(({ expiresAt }) => expiresAt > now)
  }
}

const digestOf = (code: string): Buffer => createHash('sha256').update(code).digest()
