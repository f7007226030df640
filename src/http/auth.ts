import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
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
  /** Called once a minute per address that keeps sending wrong tokens. */
  readonly onGuessing: (address: string) => void
}

/** Requires the token on every route that is not public, before the body is read. */
export function createAuth({
  token,
  headerName,
  protectReads,
  onGuessing,
}: AuthOptions): onRequestAsyncHookHandler {
  const isValid = tokenMatcher(token)
  const guesses = new Guesses(onGuessing)
  return async (request) => {
    const { method, routeOptions, query } = request
    if (isPublic(method, routeOptions.url ?? '', query as object, protectReads)) return
    const given = request.headers[headerName.toLowerCase()]
    if (given === undefined) {
      throw new AppError('missing_token', `Missing authentication token in '${headerName}' header`)
    }
    if (isValid(given)) return
    if (guesses.tooMany(addressOf(request))) await sleep(DELAY_MS)
    throw new AppError('invalid_token', 'Invalid authentication token')
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
const addressOf = (request: FastifyRequest): string => request.socket.remoteAddress ?? 'unknown'

/** Counts wrong tokens per address. Slows down guessing without locking out an address. */
class Guesses {
  readonly #byAddress = new Map<string, { count: number; since: number }>()
  readonly #onGuessing: (address: string) => void

  constructor(onGuessing: (address: string) => void) {
    this.#onGuessing = onGuessing
  }

  tooMany(address: string): boolean {
    const now = performance.now()
    const seen = this.#byAddress.get(address)
    const current = seen && now - seen.since < WINDOW_MS ? seen : { count: 0, since: now }
    current.count += 1
    this.#byAddress.delete(address)
    this.#byAddress.set(address, current)
    if (this.#byAddress.size > MAX_ADDRESSES)
      this.#byAddress.delete(this.#byAddress.keys().next().value ?? '')
    if (current.count === MAX_GUESSES + 1) this.#onGuessing(address)
    return current.count > MAX_GUESSES
  }
}
