import { CATALOGUE, type ErrorCode } from './error-catalogue.ts'

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
