import { AppError, CATALOGUE, type ErrorCode, type FieldError } from '../kernel/errors.ts'

/** RFC 9457. Every error that leaves the service over HTTP is made here. */
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

/** The framework's errors in our words. Undefined for a fault that nobody foresaw. */
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
      return new AppError('bad_request', 'The path holds a malformed percent-encoding')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'ECONNRESET':
      return new AppError('bad_request', 'The body is shorter or longer than its Content-Length')
    case 'HPE_HEADER_OVERFLOW':
      return new AppError('headers_too_large', 'The headers are larger than 16 KiB')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError('request_timeout', 'The request was not sent within the time allowed')
  }
  const isParseError = typeof code === 'string' && code.startsWith('HPE_')
  return isParseError ? new AppError('bad_request', 'The request is not valid HTTP') : undefined
}

export function unsupportedMediaType(message: string): AppError {
  return new AppError('unsupported_media_type', message)
}

/** What a caller is told of a fault that nobody foresaw: how to find it in the log, and nothing else. */
export function unexpected(cause: unknown): AppError {
  const hint = 'Search the log for the request_id, and report it if it comes again'
  return new AppError('internal_error', 'Something went wrong inside Toolroom', { hint, cause })
}
