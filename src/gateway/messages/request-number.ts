import { randomBytes } from 'node:crypto'

/** The id of a request in the log and in calls. Unique across restarts. */
export const nextRequestId = (): string => {
  requests += 1
  return `${RUN}${requests.toString(36)}`
}
const RUN = `req_${randomBytes(6).toString('base64url')}`
let requests = 0
