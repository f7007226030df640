import { randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'

const MIB = 1_048_576

export const PROBLEM_TYPE = 'application/problem+json'

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

/** Always generated: a request id from the client is not used in the log. */
export const newRequestId = (): string => `req_${randomBytes(9).toString('base64url')}`
