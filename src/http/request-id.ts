import { randomBytes } from 'node:crypto'

/** Ours alone: what a caller sends as a request id is not taken over into the log. */
export const newRequestId = (): string => `req_${randomBytes(9).toString('base64url')}`
