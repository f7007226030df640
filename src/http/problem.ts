import { AppError, CATALOGUE, type ErrorCode, type FieldError } from '../kernel/errors.ts'

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

const MIB = 1_048_576

export const PROBLEM_TYPE = 'application/problem+json'

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

/** Translates the framework's errors. Undefined for an unexpected error. */
export function knownError(error: unknown, bodyLimit = MIB): AppError | undefined {
  if (error instanceof AppError) return error
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error ? error.code : undefined
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType('The body must be sent as application/json')
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('body_too_large', `The body is larger than ${bodyLimit / MIB} MiB`)
    case 'FST_ERR_BAD_URL':
      return new AppError('bad_request', 'The path contains a malformed percent-encoding')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'ECONNRESET':
      return new AppError('bad_request', 'The body is shorter or longer than its Content-Length')
    case 'HPE_HEADER_OVERFLOW':
      return new AppError('headers_too_large', 'The headers are larger than 16 KiB')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError('request_timeout', 'The request was not received completely in time')
  }
  const isParseError = typeof code === 'string' && code.startsWith('HPE_')
  return isParseError ? new AppError('bad_request', 'The request is not valid HTTP') : undefined
}

export function unsupportedMediaType(message: string): AppError {
  return new AppError('unsupported_media_type', message)
}

/** The response to an unexpected error. It reveals only how to find the error in the log. */
export function unexpected(cause: unknown): AppError {
  const hint = 'Search the log for the request_id. If the error occurs again, please report it'
  return new AppError('internal_error', 'An internal error occurred in Toolroom', { hint, cause })
}
