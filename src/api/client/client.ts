/**
 * A client for the REST API that is typed by the OpenAPI document: `openapi-typescript` turns it into `paths`.
 * A path, a parameter, a body or a field of a response that the document does not have is a type error.
 */

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The paths that have this method. */
type PathsWith<Paths, M extends Method> = {
  [P in keyof Paths]: Paths[P] extends { [K in M]: { responses: unknown } } ? P : never
}[keyof Paths] &
  string

type OperationAt<Paths, P, M extends Method> = P extends keyof Paths
  ? M extends keyof Paths[P]
    ? Paths[P][M]
    : never
  : never

/** `path`, `query` and `body` of an operation. A part is required if the document requires it. */
type Input<Op> = Part<'path', Op> & Part<'query', Op> & Body<Op>
type Part<Place extends string, Op> = Op extends { parameters: { [K in Place]: infer Given } }
  ? { [K in Place]: Given }
  : Op extends { parameters: { [K in Place]?: infer Given } }
    ? { [K in Place]?: Given }
    : unknown
type Body<Op> = Op extends { requestBody: { content: { 'application/json': infer Given } } }
  ? { body: Given }
  : Op extends { requestBody?: { content: { 'application/json': infer Given } } }
    ? { body?: Given }
    : { body?: never }

/** The JSON of a successful response; undefined if it has no body. */
type Output<Op> = Op extends { responses: infer Responses }
  ? Success<Responses>[keyof Success<Responses>]
  : never
type Success<Responses> = {
  [Status in keyof Responses & (200 | 201 | 202 | 204)]: Responses[Status] extends {
    content: { 'application/json': infer Json }
  }
    ? Json
    : undefined
}

/** The options may be omitted if no part of them is required. */
type Arguments<Op> =
  Record<never, never> extends Input<Op> ? [input?: Input<Op> & Abortable] : [input: Input<Op> & Abortable]
/** Only the client over `fetch` can be aborted. */
interface Abortable {
  readonly signal?: AbortSignal
}

type Send<Paths, M extends Method> = <P extends PathsWith<Paths, M>>(
  path: P,
  ...given: Arguments<OperationAt<Paths, P, M>>
) => Promise<Output<OperationAt<Paths, P, M>>>

export type Client<Paths> = { readonly [M in Method]: Send<Paths, M> }

interface Options {
  /** Such as `http://127.0.0.1:8665`. */
  readonly address: string
  readonly token?: string
  readonly headerName?: string
}

interface Given extends Abortable {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
/** Sends a request to a path with its query. Resolves with the JSON of the response. */
type SendRequest = (
  method: HttpMethod,
  path: string,
  body: unknown,
  signal: AbortSignal | undefined,
) => Promise<unknown>

export const createClient = <Paths>({ address, token, headerName = 'X-SVC-Token' }: Options): Client<Paths> =>
  clientOver(async (method, path, body, signal) => {
    const response = await reach(new URL(path, address), {
      method,
      headers: {
        ...(token !== undefined && { [headerName]: token }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    const text = await response.text().catch(unreachable)
    if (!response.ok) throw new ApiError(response.status, text)
    return text === '' ? undefined : JSON.parse(text)
  })

/** A typed client over any way of sending requests. */
export function clientOver<Paths>(send: SendRequest): Client<Paths> {
  const methods = ['get', 'post', 'put', 'patch', 'delete'] as const
  return Object.fromEntries(
    methods.map((method) => [
      method,
      (path: string, given: Given = {}) =>
        send(method.toUpperCase() as HttpMethod, filled(path, given), given.body, given.signal),
    ]),
  ) as unknown as Client<Paths>
}

/** `fetch`, with an error that says what to do in place of the words of the browser. */
export const reach = (...given: Parameters<typeof fetch>): Promise<Response> =>
  fetch(...given).catch(unreachable)

function unreachable(cause: unknown): never {
  throw cause instanceof TypeError ? new Unreachable(undefined, { cause }) : cause // else: it was aborted
}

/** There is no response: the service is not running, or the connection to it was lost. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  readonly hint = 'Check that it is running (toolroom status), and try again'

  constructor(message = 'Toolroom cannot be reached', options?: ErrorOptions) {
    super(message, options)
  }
}

/** A response with an error status. `code` is the stable name of the error; see docs/errors.md. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string | undefined
  readonly hint: string | undefined
  /** What is wrong with single fields of the input; `path` is a JSON pointer. */
  readonly fields: readonly { readonly path: string; readonly message: string }[]

  constructor(status: number, text: string) {
    const { detail, code, hint, errors } = problemIn(text)
    super(detail ?? `The service answered with ${status}`)
    this.status = status
    this.code = code
    this.hint = hint
    this.fields = errors ?? []
  }
}

interface Problem {
  readonly detail?: string
  readonly code?: string
  readonly hint?: string
  readonly errors?: ApiError['fields']
}

function problemIn(text: string): Problem {
  try {
    return JSON.parse(text)
  } catch {
    return {} // not from Toolroom, for example from a proxy
  }
}

function filled(path: string, { path: values = {}, query = {} }: Given): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined) search.append(name, String(one))
  const text = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])))
  return search.size === 0 ? text : `${text}?${search}`
}
