import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { onRequestAsyncHookHandler } from 'fastify'
import { AppError } from '../../kernel/errors.ts'
import { isPublic } from './public-routes.ts'

const WINDOW_MS = 60_000
const MAX_GUESSES = 10
const DELAY_MS = 250
const MAX_ADDRESSES = 1000

export interface AuthOptions {
  readonly token: AccessToken
  readonly headerName: string
  readonly protectReads: boolean
  readonly guesses: Guesses
}

/**
 * Requires the token on every route that is not public, before the body is read. A wrong token counts as a guess on public
 * routes, too, because some of them show more with the right one.
 */
export function createAuth({
  token,
  headerName,
  protectReads,
  guesses,
}: AuthOptions): onRequestAsyncHookHandler {
  return async (request) => {
    const given = request.headers[headerName.toLowerCase()]
    const isWrong = given !== undefined && !token.matches(given)
    if (isWrong) {
      const delayMs = guesses.delayMs(request.socket.remoteAddress)
      if (delayMs > 0) await sleep(delayMs)
    }
    const { method, routeOptions, query } = request
    if (isPublic(method, routeOptions.url ?? '', query as object, protectReads)) return
    if (given === undefined) {
      throw new AppError('missing_token', `Missing authentication token in '${headerName}' header`)
    }
    if (isWrong) throw new AppError('invalid_token', 'Invalid authentication token')
  }
}

/** For public routes that show more with a token. A wrong one counts as none. */
export function hasToken(token: AccessToken, headerName: string) {
  const name = headerName.toLowerCase()
  return (headers: Readonly<Record<string, unknown>>): boolean => token.matches(headers[name])
}

/** The token that changes require. It can be replaced while the service runs. */
export class AccessToken {
  #value = ''
  #digest: Buffer = digest('')

  constructor(value: string) {
    this.replace(value)
  }

  get value(): string {
    return this.#value
  }

  /** The previous token stops working at once. */
  replace(value: string): void {
    this.#value = value
    this.#digest = digest(value)
  }

  /** Compares in constant time. */
  matches(given: unknown): boolean {
    return typeof given === 'string' && timingSafeEqual(digest(given), this.#digest)
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * Counts wrong tokens and gateway keys per address, over every protocol together. Slows down guessing without locking out an
 * address: a right one is never delayed.
 */
export class Guesses {
  readonly #byAddress = new Map<string, { count: number; since: number }>()
  readonly #onGuessing: (address: string) => void

  /** `onGuessing`: called once a minute for an address that keeps sending wrong ones. */
  constructor(onGuessing: (address: string) => void) {
    this.#onGuessing = onGuessing
  }

  /** Counts a wrong token or key. Returns how long its response has to wait. */
  delayMs(address = 'unknown'): number {
    const now = performance.now()
    const seen = this.#byAddress.get(address)
    const current = seen && now - seen.since < WINDOW_MS ? seen : { count: 0, since: now }
    current.count += 1
    this.#byAddress.delete(address)
    this.#byAddress.set(address, current)
    if (this.#byAddress.size > MAX_ADDRESSES)
      this.#byAddress.delete(this.#byAddress.keys().next().value ?? '')
    if (current.count === MAX_GUESSES + 1) this.#onGuessing(address)
    return current.count > MAX_GUESSES ? DELAY_MS : 0
  }
}
