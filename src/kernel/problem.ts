import { AppError, CATALOGUE, type ErrorCode, type FieldError } from './errors.ts'

/** RFC 9457. The body of every HTTP error that the service sends. */
export interface Problem {
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
