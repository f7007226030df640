import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { onRequestAsyncHookHandler } from 'fastify'
import { AppError } from '../kernel/errors.ts'
import { isPublic } from './public-routes.ts'

const WINDOW_MS = 60_000
const MAX_GUESSES = 10
const DELAY_MS = 250
const MAX_ADDRESSES = 1000

export interface AuthOptions {
  readonly token: string
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
  const isValid = tokenMatcher(token)
  return async (request) => {
    const given = request.headers[headerName.toLowerCase()]
    const isWrong = given !== undefined && !isValid(given)
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
export function hasToken(token: string, headerName: string) {
  const isValid = tokenMatcher(token)
  return (headers: Readonly<Record<string, unknown>>): boolean => isValid(headers[headerName.toLowerCase()])
}

/** Compares in constant time. */
export function tokenMatcher(token: string): (given: unknown) => boolean {
  const expected = digest(token)
  return (given) => typeof given === 'string' && timingSafeEqual(digest(given), expected)
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * Counts wrong tokens and gateway keys per address, at every door together. Slows down guessing without locking out an
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
