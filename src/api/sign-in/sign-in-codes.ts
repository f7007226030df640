import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const MAX_CODES = 20
/** Expired codes are remembered, so that a link can say what happened to it. */
const MAX_EXPIRED = 20
const CODE_BYTES = 16

interface Issued {
  readonly digest: Buffer
  readonly expiresAt: number
}

/** Codes that open the dashboard once. Only their digests are kept, in memory. */
export class LoginCodes {
  readonly #clock: () => number
  #issued: readonly Issued[] = []
  #expired: readonly Issued[] = []

  /** `clock` is monotonic. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Returns a code that lives that long. The oldest code is forgotten when there are too many. */
  issue(lifetimeMs: number): string {
    const code = randomBytes(CODE_BYTES).toString('base64url')
    const issued = { digest: digestOf(code), expiresAt: this.#clock() + lifetimeMs }
    this.#issued = [...this.#valid(), issued].slice(-MAX_CODES)
    return code
  }

  /** `valid` once for each code. Compares with every code in constant time. */
  redeem(code: string): 'valid' | 'expired' | 'unknown' {
    const digest = digestOf(code)
    const valid = this.#valid()
    const others = without(valid, digest)
    this.#issued = others
    if (others.length < valid.length) return 'valid'
    return without(this.#expired, digest).length < this.#expired.length ? 'expired' : 'unknown'
  }

  clear(): void {
    this.#issued = []
  }

  #valid(): readonly Issued[] {
    const now = this.#clock()
    const isValid = ({ expiresAt }: Issued) => expiresAt > now
    const expired = this.#issued.filter((issued) => !isValid(issued))
    this.#expired = [...this.#expired, ...expired].slice(-MAX_EXPIRED)
    this.#issued = this.#issued.filter(isValid)
    return this.#issued
  }
}

const without = (issued: readonly Issued[], digest: Buffer): Issued[] =>
  issued.filter((each) => !timingSafeEqual(each.digest, digest))

const digestOf = (code: string): Buffer => createHash('sha256').update(code).digest()
