/**
 * Every error that the API returns. `docs/errors.md` explains each one; a test keeps the two in step.
 * `http/` turns a code into problem+json, `main.ts` into an exit code.
 */
export const CATALOGUE = {
  bad_request: { status: 400, title: 'Malformed request' },
  bad_host_header: { status: 400, title: 'Bad Host header' },
  invalid_json: { status: 400, title: 'Malformed JSON' },
  missing_token: { status: 401, title: 'Token missing' },
  invalid_token: { status: 401, title: 'Token not accepted' },
  code_spent: { status: 401, title: 'Login code not accepted' },
  host_not_allowed: { status: 403, title: 'Host not allowed' },
  origin_not_allowed: { status: 403, title: 'Origin not allowed' },
  cross_site: { status: 403, title: 'Cross-site request refused' },
  not_permitted: { status: 403, title: 'Not permitted' },
  not_found: { status: 404, title: 'Not found' },
  package_not_found: { status: 404, title: 'Package not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'Request timed out' },
  image_not_found: { status: 404, title: 'Image not found' },
  server_exists: { status: 409, title: 'Name already in use' },
  server_not_running: { status: 409, title: 'Server not running' },
  server_stopped: { status: 409, title: 'Server is stopped' },
  login_needed: { status: 409, title: 'Login needed' },
  login_not_possible: { status: 409, title: 'Login is not possible' },
  login_unknown: { status: 409, title: 'Login is not pending' },
  config_changed: { status: 409, title: 'File has changed' },
  config_unparsable: { status: 409, title: 'File cannot be read' },
  config_read_only: { status: 409, title: 'File is read-only' },
  config_unsafe: { status: 409, title: 'File is not safe to edit' },
  agent_not_installed: { status: 409, title: 'Agent not installed' },
  tool_held: { status: 409, title: 'Tool is waiting for approval' },
  prompt_held: { status: 409, title: 'Prompt is waiting for approval' },
  nothing_to_approve: { status: 409, title: 'Nothing to approve' },
  nothing_to_undo: { status: 409, title: 'Nothing to undo' },
  package_in_use: { status: 409, title: 'Package is in use' },
  secret_in_use: { status: 409, title: 'Secret is in use' },
  package_too_new: { status: 409, title: 'Package is too new' },
  bin_unclear: { status: 409, title: 'Package has several programs' },
  node_too_old: { status: 409, title: 'Package needs a newer Node.js' },
  nothing_to_roll_back: { status: 409, title: 'No earlier version' },
  job_cancelled: { status: 409, title: 'Job was cancelled' },
  job_not_waiting: { status: 409, title: 'Job is not waiting' },
  set_elsewhere: { status: 409, title: 'Set elsewhere' },
  payload_incomplete: { status: 409, title: 'Arguments are not complete' },
  limit_reached: { status: 409, title: 'Limit reached' },
  revision_mismatch: { status: 412, title: 'Revision is outdated' },
  body_too_large: { status: 413, title: 'Body too large' },
  config_too_large: { status: 413, title: 'File too large' },
  url_too_long: { status: 414, title: 'URL too long' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  invalid_input: { status: 422, title: 'Invalid input' },
  wrong_passphrase: { status: 422, title: 'Wrong passphrase' },
  blocked_address: { status: 422, title: 'Address not allowed' },
  invalid_package_spec: { status: 422, title: 'Not a package name' },
  not_supported: { status: 422, title: 'Not supported by the agent' },
  config_locked: { status: 423, title: 'File is locked' },
  upgrade_required: { status: 426, title: 'WebSocket expected' },
  cardinality_limit: { status: 429, title: 'Too many label sets' },
  headers_too_large: { status: 431, title: 'Headers too large' },
  internal_error: { status: 500, title: 'Internal error' },
  server_start_failed: { status: 502, title: 'Server did not start' },
  install_failed: { status: 502, title: 'Package was not installed' },
  update_failed: { status: 502, title: 'Package was not updated' },
  registry_failed: { status: 502, title: 'Registry failed' },
  registry_refused: { status: 502, title: 'Registry requires a login' },
  registry_unreachable: { status: 502, title: 'Registry is unreachable' },
  search_unavailable: { status: 502, title: 'Registry has no search' },
  login_refused: { status: 502, title: 'Login was refused' },
  login_unavailable: { status: 502, title: 'Login is not possible now' },
  image_login_needed: { status: 502, title: 'Image registry requires a login' },
  image_pull_failed: { status: 502, title: 'Image was not pulled' },
  call_failed: { status: 502, title: 'Call failed' },
  out_of_resources: { status: 503, title: 'System is out of resources' },
  too_many_clients: { status: 503, title: 'Too many WebSocket connections' },
  store_busy: { status: 503, title: 'Store is locked' },
  store_damaged: { status: 503, title: 'Store is damaged' },
  shutting_down: { status: 503, title: 'Shutting down' },
  start_timeout: { status: 504, title: 'Server did not start in time' },
  registry_timeout: { status: 504, title: 'Registry timed out' },
  call_timeout: { status: 504, title: 'Call timed out' },
  engine_unavailable: { status: 503, title: 'Container engine is unavailable' },
  disk_full: { status: 507, title: 'Disk full' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof CATALOGUE

/** What is wrong with one input field. `path` is a JSON pointer such as `/args/3`. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

interface Details {
  readonly hint?: string
  readonly errors?: readonly FieldError[]
  readonly cause?: unknown
  readonly retryAfterS?: number
  /** Further members of the problem document, such as `last_error`. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** An error that the caller can act on: a stable code and a message that names the subject. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly errors: readonly FieldError[] | undefined
  readonly retryAfterS: number | undefined
  readonly members: Readonly<Record<string, unknown>> | undefined

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.errors = details.errors
    this.retryAfterS = details.retryAfterS
    this.members = details.members
  }

  get status(): number {
    return CATALOGUE[this.code].status
  }
}

/** A name as one step of a JSON pointer, cut to 64 characters. */
export const pointer = (name: string): string => name.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')

/** An error about one field. The message appears in `detail` and, beside the path, in `errors`. */
export function invalidField(path: string, message: string, hint?: string): AppError {
  return new AppError('invalid_input', `${path.slice(1)} ${message}`, {
    errors: [{ path, message }],
    ...(hint === undefined ? {} : { hint }),
  })
}

/** The message says what was not done. */
export const diskFull = (message: string, cause?: unknown): AppError =>
  new AppError('disk_full', message, {
    hint: 'Free some space. Reading, deleting servers and clearing logs still work',
    cause,
  })

/** RFC 9457. The body of every HTTP error that the service sends. */
interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ErrorCode
  readonly request_id: string
  readonly errors?: readonly FieldError[]
  readonly hint?: string
}

export function problemOf(error: AppError, requestId: string): Problem {
  const { status, title } = CATALOGUE[error.code]
  return {
    type: `/docs/errors/${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    request_id: requestId,
    ...(error.errors && { errors: error.errors }),
    ...(error.hint !== undefined && { hint: error.hint }),
    ...error.members,
  }
}

/** The response to an unexpected error. It reveals only how to find the error in the log. */
export function unexpected(cause: unknown): AppError {
  const hint = 'Search the log for the request_id. If the error occurs again, please report it'
  return new AppError('internal_error', 'An internal error occurred in Toolroom', { hint, cause })
}
