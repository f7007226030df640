import type { ToolCall } from './upstream.ts'

/** Over REST, where the caller can send `timeout_s`. */
const REST_S = 60
/** Through the gateway: no MCP client can send a time limit, and every client has its own. */
const GATEWAY_S = 600

export const REQUEST_S_DESCRIPTION = `Seconds for one call. null: ${REST_S} over REST, ${GATEWAY_S} through the gateway`

type Limited = Pick<ToolCall, 'timeout_s' | 'waits'>
interface Timeouts {
  readonly request_s: number | null
}

/** The time limit of a request. Progress restarts it. */
export const requestMs = ({ timeout_s, waits }: Limited, { request_s }: Timeouts): number =>
  (timeout_s ?? request_s ?? (waits ? GATEWAY_S : REST_S)) * 1000

/** How long a request waits for the start of its server: an agent is told sooner that a server does not start. */
export const startWaitMs = ({ timeout_s }: Limited, { request_s }: Timeouts): number =>
  (timeout_s ?? request_s ?? REST_S) * 1000
