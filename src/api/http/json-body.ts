import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, type FieldError, pointer } from '../../kernel/errors.ts'
import { hasMoreValues, isDeeperThan, MAX_REQUEST_DEPTH } from '../../kernel/json/json-checks.ts'
import { unsupportedMediaType } from './problem.ts'

const MAX_ERRORS = 20
/** A body with more values than this takes longer to read than its size allows. */
const MAX_VALUES = 50_000
/** Of one object. No list of fields in the API is longer. */
const MAX_MEMBERS = 5000
/** Names that can modify a prototype when a value is copied carelessly. */
const UNSAFE_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** Accepts only JSON in UTF-8, and refuses valid JSON with content that no field can store. */
export function acceptOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addHook('onRequest', async (request) => refuseOtherEncodings(request))
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, readJson(request, body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  app.addHook('preValidation', async (request) => {
    const schema = request.routeOptions.schema?.body
    const takesBody = schema !== undefined
    if (takesBody && request.body === undefined && isAllOptional(schema)) request.body = {}
    if (!takesBody && request.body !== undefined && request.body !== null && !isEmptyPost(request)) {
      throw new AppError('invalid_input', 'This operation does not accept a body', {
        errors: [{ path: '', message: 'must be omitted' }],
      })
    }
  })
}

/** Many clients send `{}` with a POST that needs no body. */
const isEmptyPost = ({ method, body }: FastifyRequest): boolean =>
  method === 'POST' && typeof body === 'object' && JSON.stringify(body) === '{}'

function refuseOtherEncodings({ headers, method }: FastifyRequest): void {
  if (method === 'GET' || method === 'HEAD') return // their body is never read
  const encoding = headers['content-encoding']
  if (encoding && encoding.toLowerCase() !== 'identity') {
    throw unsupportedMediaType('The body must be sent without a Content-Encoding')
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw unsupportedMediaType('The body must be sent in UTF-8')
  }
}

/** The `config` of a route that forwards its body to a server instead of storing it. */
export interface RouteBody {
  readonly passedOn?: boolean
}
const isPassedOn = ({ routeOptions }: FastifyRequest): boolean =>
  (routeOptions.config as RouteBody).passedOn === true

interface BodySchema {
  readonly type?: unknown
  readonly anyOf?: readonly BodySchema[]
  readonly required?: readonly string[]
  readonly minProperties?: number
}

/** Whether a request without a body is valid. */
export function mayBeEmpty(schema: unknown): boolean {
  const { minProperties = 0 } = schema as BodySchema
  return mayBeNull(schema) || (isAllOptional(schema) && minProperties === 0)
}

const mayBeNull = (schema: unknown): boolean =>
  ((schema as BodySchema).anyOf ?? []).some(({ type }) => type === 'null')

/** An empty body then means `{}`. */
function isAllOptional(schema: unknown): boolean {
  const { type, required = [] } = schema as BodySchema
  return type === 'object' && required.length === 0
}

function readJson(request: FastifyRequest, body: Buffer): unknown {
  const { schema } = request.routeOptions
  const needed = schema?.body !== undefined && !mayBeNull(schema.body) && !isAllOptional(schema.body)
  if (body.length === 0) {
    if (needed) throw new AppError('invalid_json', 'The body is empty')
    return undefined // many clients send a Content-Type without a body
  }
  if (isDeeperThan(body, MAX_REQUEST_DEPTH))
    throw new AppError('invalid_json', `The body is nested deeper than ${MAX_REQUEST_DEPTH} levels`)
  if (hasMoreValues(body, MAX_VALUES))
    throw new AppError('body_too_large', `The body has more than ${MAX_VALUES} values`)
  const value = parse(body)
  if (isPassedOn(request)) return value
  const errors: FieldError[] = []
  findUnsafe(value, '', errors)
  if (errors.length > 0)
    throw new AppError('invalid_input', 'The body contains text that cannot be stored', { errors })
  return value
}

function parse(body: Buffer): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw new AppError('invalid_json', 'The body is not valid UTF-8', { cause })
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    // V8's message quotes the body, which may contain a secret, so only the position is reported.
    const place = /at position (\d+)/.exec(cause instanceof Error ? cause.message : '')?.[1]
    const where = place === undefined ? '' : ` at character ${Number(place) + 1}`
    throw new AppError('invalid_json', `The body is not valid JSON${where}`, { cause })
  }
}

function findUnsafe(value: unknown, path: string, errors: FieldError[]): void {
  if (errors.length >= MAX_ERRORS) return
  if (typeof value === 'string') {
    const message = unsafeText(value)
    if (message !== undefined) errors.push({ path, message })
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) findUnsafe(item, `${path}/${index}`, errors)
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
    if (members.length > MAX_MEMBERS) {
      errors.push({ path, message: `must have at most ${MAX_MEMBERS} fields` })
      return
    }
    for (const [key, item] of members) {
      if (errors.length >= MAX_ERRORS) return
      const message = UNSAFE_KEYS.has(key) ? 'is not an allowed name' : unsafeText(key)
      if (message !== undefined) errors.push({ path: `${path}/${pointer(key)}`, message })
      else findUnsafe(item, `${path}/${pointer(key)}`, errors)
    }
  }
}

export function unsafeText(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain a NUL character'
  return text.isWellFormed() ? undefined : 'must not contain an unpaired surrogate'
}
