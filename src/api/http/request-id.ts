import { randomBytes } from 'node:crypto'

/** Always generated: a request id from the client is not used in the log. */
export const newRequestId = (): string => `req_${randomBytes(9).toString('base64url')}`
