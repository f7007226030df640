import { CATALOGUE, type ErrorCode } from '../../../kernel/error-catalogue.ts'
import { PROBLEM_TYPE } from '../problem.ts'

/** The responses that many operations have in common, by name. */
const SHARED: Readonly<Record<string, readonly ErrorCode[]>> = {
  Unauthorized: ['missing_token', 'invalid_token'],
  Forbidden: ['host_not_allowed', 'origin_not_allowed', 'cross_site'],
  RequestTimeout: ['request_timeout'],
  BodyTooLarge: ['body_too_large'],
  UrlTooLong: ['url_too_long'],
  UnsupportedMediaType: ['unsupported_media_type'],
  HeadersTooLarge: ['headers_too_large'],
  InternalError: ['internal_error'],
  Unavailable: ['store_busy', 'store_damaged', 'shutting_down'],
  DiskFull: ['disk_full'],
}

export interface RouteFacts {
  readonly method: string
  readonly isOpen: boolean
  readonly hasParams: boolean
  readonly hasBody: boolean
  readonly hasHeaders: boolean
  /** The error codes that are specific to the route. */
  readonly own: readonly ErrorCode[]
}

/** The error responses of a route by status, derived from its method and schema. */
export function problemResponses(route: RouteFacts, headerName: string): Record<number, object> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of new Set(codesOf(route))) {
    const { status } = CATALOGUE[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const entries = [...byStatus].map(([status, codes]) => {
    const name = Object.keys(SHARED).find((each) => SHARED[each]?.join() === codes.join())
    return [status, name ? { $ref: `#/components/responses/${name}` } : problemResponse(codes, headerName)]
  })
  return Object.fromEntries(entries)
}

/** For the components of the document. */
export const sharedResponses = (headerName: string): Record<string, object> =>
  Object.fromEntries(
    Object.entries(SHARED).map(([name, codes]) => [name, problemResponse(codes, headerName)]),
  )

function codesOf({ method, isOpen, hasParams, hasBody, hasHeaders, own }: RouteFacts): ErrorCode[] {
  const changes = method !== 'GET'
  return [
    ...own,
    'bad_request',
    'bad_host_header',
    ...(changes ? (['invalid_json'] as const) : []),
    ...(isOpen ? [] : (['missing_token', 'invalid_token'] as const)),
    'host_not_allowed',
    'origin_not_allowed',
    'cross_site',
    ...(hasParams ? (['not_found'] as const) : []),
    'request_timeout',
    ...(hasBody ? (['server_exists', 'limit_reached'] as const) : []),
    ...(hasHeaders ? (['revision_mismatch'] as const) : []),
    ...(changes ? (['body_too_large'] as const) : []),
    'url_too_long',
    ...(changes ? (['unsupported_media_type'] as const) : []),
    'invalid_input',
    ...(hasBody ? (['blocked_address'] as const) : []),
    'headers_too_large',
    'internal_error',
    'store_busy',
    'store_damaged',
    'shutting_down',
    ...(changes ? (['disk_full'] as const) : []),
  ]
}

function problemResponse(codes: readonly ErrorCode[], headerName: string) {
  const examples = Object.fromEntries(
    codes.map((code) => [code, { value: problemExample(code, headerName) }]),
  )
  const content = { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' }, examples } }
  return { description: codes.map((code) => `\`${code}\`: ${CATALOGUE[code].title}`).join('; '), content }
}

function problemExample(code: ErrorCode, headerName: string): object {
  const { status, title } = CATALOGUE[code]
  const detail = DETAILS[code]?.(headerName) ?? `${title}.`
  return { type: `/docs/errors/${code}`, title, status, detail, code, request_id: 'req_Zm9vYmFyYmF6' }
}

/** The sentences that the specification gives to the letter. */
const DETAILS: Partial<Record<ErrorCode, (headerName: string) => string>> = {
  missing_token: (headerName) => `Missing authentication token in '${headerName}' header`,
  invalid_token: () => 'Invalid authentication token',
}

const text = (description: string) => ({ type: 'string', description })

export const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'RFC 9457',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: text('A page on this service that explains the error code'),
    title: text('The kind of error'),
    status: { type: 'integer' },
    detail: text('What happened in this case'),
    code: { type: 'string', enum: Object.keys(CATALOGUE) },
    request_id: text('Identifies the request in the log'),
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: text('JSON pointer to the field'), message: text('What is wrong with it') },
      },
    },
    hint: text('What usually helps'),
    last_error: {
      type: 'object',
      description: 'Why a tool server is not running',
      required: ['code', 'message', 'hint'],
      properties: {
        code: text('The stable error code'),
        message: text('The cause'),
        hint: { type: ['string', 'null'], description: 'What to do next' },
      },
    },
    start_url: text('A page that begins the login'),
    stderr_tail: {
      type: 'array',
      items: text('A line'),
      description: "The last lines of the tool server's stderr",
    },
  },
}
