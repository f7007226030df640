import { METHODS } from 'node:http'
import fc from 'fast-check'
import { anything, broken, fitting } from './arbitrary-json.ts'
import type { Operation, Parameter, Schema } from './openapi.ts'
import { TOKEN } from './token.ts'

/** A request, and what is known about it in advance. */
export interface Sent {
  readonly why: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload?: string | Buffer
  /** Wrong tokens are counted by address, and responses to many from one address are delayed. */
  readonly remoteAddress?: string
  /** The expected status, if the fault allows only one. */
  readonly status?: number
}

const JSON_TYPE = 'application/json'
const WRONG_TYPES = [
  'text/plain',
  'text/json',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/jsonp',
  'application/octet-stream',
  'json',
  '/',
  ';',
  '*/*',
]

/** Requests with exactly one fault that makes them invalid. They must change nothing. */
export function invalidRequests(operations: readonly Operation[]): fc.Arbitrary<Sent> {
  const ways = operations.flatMap((operation) => [
    ...bodyFaults(operation),
    ...queryFaults(operation),
    ...pathFaults(operation),
    ...tokenFaults(operation),
    methodFault(operation, operations),
  ])
  return fc.oneof(...ways, unknownPath(operations))
}

/** Random requests of valid and invalid parts. Some of them are valid. */
export function wildRequests(operations: readonly Operation[]): fc.Arbitrary<Sent> {
  const of = (operation: Operation): fc.Arbitrary<Sent> => {
    const { body = {}, parameters } = operation
    const name = fc.oneof(fc.constantFrom('limit', 'x', ...parameters.map((each) => each.name)), wellFormed)
    const query = fc.array(
      fc.tuple(name, fc.oneof(wellFormed, fc.constantFrom('1', '15m', 'info', 'audit'))),
      { maxLength: 3 },
    )
    const json = fc
      .oneof(fitting(body), broken(body) ?? anything, anything)
      .map((value) => JSON.stringify(value))
    const payload = fc.oneof(
      json,
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    )
    const type = fc.oneof({ weight: 4, arbitrary: fc.constant(JSON_TYPE) }, fc.constantFrom(...WRONG_TYPES))
    const method = fc.oneof(
      { weight: 6, arbitrary: fc.constant(operation.method) },
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'),
    )
    const extra = fc.dictionary(
      fc.constantFrom(
        'if-match',
        'accept',
        'x-request-id',
        'content-encoding',
        'expect',
        'range',
        'cookie',
        'x-http-method-override',
      ),
      fc.string({ maxLength: 80 }),
      { maxKeys: 2 },
    )
    const id = fc.oneof(
      fc.constantFrom('github', 'docs', 'GitHub', 'missing', 'import', 'download', 'cursor'),
      segment,
    )
    return fc
      .record({ method, id, query, payload, type, extra, withToken: fc.integer({ min: 0, max: 9 }) })
      .map((parts) => ({
        why: 'wild',
        method: parts.method,
        url: pathOf(operation, parts.id) + queryText(parts.query),
        headers: {
          ...parts.extra,
          ...(parts.withToken > 0 && { 'x-svc-token': TOKEN }),
          ...hasBody(parts.method, parts.type),
        },
        ...(hasBody(parts.method, '') && { payload: parts.payload }),
      }))
  }
  return fc.oneof(...operations.filter(startsNothing).map(of)).filter(staysAtHome)
}

/** A project path can be any folder of this computer, not only one of the test; and its service manager has one for all. */
const staysAtHome = ({ method, url, payload }: Sent): boolean =>
  !`${url}${String(payload)}`.includes('project_path') &&
  !/^(?:PUT \/api\/service|POST \/api\/sample-server)\b/.test(`${method} ${url}`)

/** Random commands, URLs and packages are registered here but must not be executed or requested on this machine. */
const startsNothing = ({ path }: Operation): boolean =>
  !/\/(?:start|restart|call|test|try|bulk|trial|diagnose|install-npm|pull|search|update|shutdown|\{id\}\/login)$/.test(
    path,
  )

/** The operation that matches a request; undefined for an unknown path or method. */
export function operationFor(
  operations: readonly Operation[],
  { method, url }: Pick<Sent, 'method' | 'url'>,
): Operation | undefined {
  const path = (url.split('?')[0] ?? '').replace(/\/$/, '')
  const wanted = method === 'HEAD' ? 'GET' : method
  const fits = operations.filter((each) => each.method === wanted && patternOf(each.path).test(path))
  return fits.find((each) => !each.path.includes('{')) ?? fits[0]
}

function bodyFaults(operation: Operation): fc.Arbitrary<Sent>[] {
  const { body, method, parameters } = operation
  const base = valid(operation)
  if (method === 'DELETE' && !body) {
    const something = anything.filter((value) => value !== null)
    return [something.map((value) => withJson(base, 'DELETE with a body', JSON.stringify(value)))]
  }
  if (!body) return []
  const good = fitting(body).map((value) => JSON.stringify(value))
  // An empty body is valid where everything is optional.
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 64 }).map((some) => Buffer.from(some))
  const wrong = broken(body)?.map((value) => withJson(base, 'invalid body', JSON.stringify(value)))
  const ways = [
    good
      .map((text) => text.slice(0, -1))
      .filter((text) => !isJson(text)) // a truncated number is still a number
      .map((text) => withJson(base, 'cut-off JSON', text, { status: 400 })),
    bytes.map((some) => withJson(base, 'random bytes', some)),
    fc
      .integer({ min: 65, max: 50_000 })
      .map((depth) => withJson(base, 'deep JSON', '{"a":'.repeat(depth), { status: 400 })),
    withHeader('content-type', fc.constantFrom(...WRONG_TYPES), 415),
    withHeader('content-encoding', fc.constantFrom('gzip', 'br', 'x', 'identity, gzip'), 415),
    ...(wrong ? Array.from({ length: 6 }, () => wrong) : []), // more weight for the most frequent mistakes
  ]
  if (parameters.some(({ name }) => name === 'if-match')) ways.push(withHeader('if-match', staleRevision))
  return ways

  function withHeader(name: string, value: fc.Arbitrary<string>, status?: number): fc.Arbitrary<Sent> {
    return fc.tuple(good, value).map(([payload, given]) => {
      const headers = { ...json(base), [name]: given }
      return withJson(base, name, payload, { headers, ...(status !== undefined && { status }) })
    })
  }
}

const staleRevision = fc.oneof(
  fc.integer({ min: 1000 }).map((revision) => `"${revision}"`),
  fc.string({ minLength: 65, maxLength: 99 }),
  fc.constantFrom('x', '"', '-1', '1,2'),
)

function queryFaults(operation: Operation): fc.Arbitrary<Sent>[] {
  const base = valid(operation)
  const known = operation.parameters.filter((each) => each.in === 'query')
  const unknown = wellFormed.filter((name) => name !== '' && !known.some((each) => each.name === name))
  const sent = (pairs: [string, string][]): Sent => ({
    ...base,
    why: 'query',
    url: base.url + queryText(pairs),
    status: 422,
  })
  if (operation.body) return [] // with a body, the missing body would be the fault
  return [
    unknown.map((name) => sent([[name, 'x']])),
    ...known.map((each) => brokenQuery(each).map((text) => sent([[each.name, text]]))),
  ]
}

/** A query is text, so a fault is a text that is not valid for the parameter. */
function brokenQuery({ schema }: Parameter): fc.Arbitrary<string> {
  const one: Schema = schema.type === 'array' ? (schema.items ?? {}) : schema
  if (one.enum) return wellFormed.filter((text) => !one.enum?.includes(text))
  if (one.type === 'integer') {
    const { minimum = 0, maximum = 0 } = one
    const isInside = (text: string) =>
      /^-?\d{1,15}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum
    return fc
      .oneof(wellFormed, fc.integer().map(String), fc.double().map(String))
      .filter((text) => !isInside(text))
  }
  if (one.pattern !== undefined) return wellFormed.filter((text) => !new RegExp(one.pattern ?? '').test(text))
  return fc.constantFrom('', '\0', 'x'.repeat((one.maxLength ?? 0) + 1))
}

function pathFaults(operation: Operation): fc.Arbitrary<Sent>[] {
  if (!operation.path.includes('{')) return []
  const base = valid(operation)
  const malformed = fc
    .constantFrom('%zz', '%', '%2', '%ff', '%c0%af', 'a%e2%82')
    .map((id) => ({ ...base, why: 'malformed path', url: pathOf(operation, id), status: 400 }))
  if (CREATING.includes(`${operation.method} ${operation.path}`)) return [malformed]
  const body = operation.body && fitting(operation.body).map((value) => JSON.stringify(value))
  const away = segment.filter(
    (id) => !['github', 'docs', 'GitHub', 'Docs', 'import'].includes(decodeURIComponent(id)),
  )
  return [
    fc.tuple(away, body ?? fc.constant(undefined)).map(([id, payload]) => ({
      ...base,
      why: 'unknown id',
      url: pathOf(operation, id),
      ...(payload !== undefined && { payload, headers: json(base) }),
    })),
    malformed,
  ]
}

/** They create what does not exist yet, so an unknown name is valid. */
const CREATING = ['PUT /api/secrets/{name}', 'PUT /api/presets/{name}', 'PUT /api/saved-calls/{id}']

function tokenFaults(operation: Operation): fc.Arbitrary<Sent>[] {
  if (!operation.needsToken) return []
  const { headers: _, ...base } = valid(operation)
  const wrong = fc.tuple(fc.string({ maxLength: 80 }), fc.ipV4()).filter(([token]) => token !== TOKEN)
  return [
    anything.map((value) => ({
      ...base,
      why: 'no token',
      headers: { 'content-type': JSON_TYPE },
      payload: JSON.stringify(value),
      status: 401,
    })),
    wrong.map(([token, remoteAddress]) => ({
      ...base,
      why: 'wrong token',
      headers: { 'x-svc-token': token },
      remoteAddress,
      status: 401,
    })),
  ]
}

function methodFault(operation: Operation, all: readonly Operation[]): fc.Arbitrary<Sent> {
  const { url, headers } = valid(operation)
  const others = METHODS.filter(
    (method) =>
      method !== 'CONNECT' &&
      !all.some(
        (each) =>
          patternOf(each.path).test(url) &&
          [each.method, each.method === 'GET' ? 'HEAD' : ''].includes(method),
      ),
  )
  return fc.tuple(fc.constantFrom(...others), anything, fc.boolean()).map(([method, value, withBody]) => ({
    why: 'wrong method',
    method,
    url,
    status: 405,
    headers: withBody ? { ...headers, 'content-type': JSON_TYPE } : headers,
    ...(withBody && { payload: JSON.stringify(value) }),
  }))
}

function unknownPath(all: readonly Operation[]): fc.Arbitrary<Sent> {
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE')
  return fc
    .tuple(method, fc.array(segment, { minLength: 1, maxLength: 5 }))
    .map(([verb, parts]) => ({
      why: 'unknown path',
      method: verb,
      url: `/api/${parts.join('/')}`,
      headers: { 'x-svc-token': TOKEN },
      status: 404,
    }))
    .filter(({ url }) => !all.some((each) => patternOf(each.path).test(url)))
}

/** Text that is valid in a URL once it is percent-encoded. */
const wellFormed = fc
  .oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom('', '\0', '*', '%', 'a/b', '-1', '1e9', '__proto__', 'x'.repeat(300)),
  )
  .filter((text) => text.isWellFormed())
const segment = wellFormed.filter((text) => !/^\.{0,2}$/.test(text)).map(encodeURIComponent)

const queryText = (pairs: readonly [string, string][]): string =>
  pairs.length === 0
    ? ''
    : `?${pairs.map(([name, text]) => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`).join('&')}`

const pathOf = ({ path }: Operation, id: string): string => path.replace(/\{\w+\}/, () => id)
const patterns = new Map<string, RegExp>()
function patternOf(path: string): RegExp {
  const known = patterns.get(path)
  if (known) return known
  const made = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)
  patterns.set(path, made)
  return made
}
const json = ({ headers }: Sent): Record<string, string> => ({ ...headers, 'content-type': JSON_TYPE })
/** The request with a JSON body and a fault. */
function withJson(base: Sent, why: string, payload: string | Buffer, more: Partial<Sent> = {}): Sent {
  return { ...base, why, headers: json(base), payload, ...more }
}

const hasBody = (method: string, type: string) =>
  method === 'GET' || method === 'HEAD' ? undefined : { 'content-type': type }

/** A valid request, except that the body may be missing. */
function valid(operation: Operation): Sent {
  const id = operation.path.includes('http-servers') ? 'docs' : 'github'
  return { why: '', method: operation.method, url: pathOf(operation, id), headers: { 'x-svc-token': TOKEN } }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
