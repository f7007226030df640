import type { Facts } from '../../kernel/fact-bus.ts'

/** A completed call, as its fact was published. */
export type CallRecord = Facts['call_completed']
export type CallStatus = CallRecord['status']

/** The filters of `calls.schema.ts`, with every time in milliseconds. */
export interface CallFilter {
  readonly server_id?: readonly string[]
  readonly tool?: string
  readonly agent_type?: string
  readonly session_id?: string
  readonly status?: readonly CallStatus[]
  readonly min_ms?: number
  /** Text in the tool, the error code or the error message. Case is ignored. */
  readonly search?: string
  /** Inclusive. */
  readonly since?: number
  /** Inclusive. */
  readonly until?: number
}

export interface CallPageRequest {
  readonly filter: CallFilter
  readonly limit: number
  /** Only calls with a lower id. */
  readonly before: number | null
}

export interface CallPage {
  /** The call with the highest id first. */
  readonly items: CallRecord[]
  /** Null above 10,000. Independent of `before`. */
  readonly total: number | null
  /** The `before` of the next page; null on the last page. */
  readonly next: number | null
}

/** The arguments and the result of one call, redacted and encrypted. */
export interface SealedPayload {
  readonly call_id: number
  readonly at: number
  readonly sealed: string
}

/** Storage for completed calls. Requests are carried out in the order in which they are made. */
export interface CallStore {
  /** The highest id of a stored call; 0 without one. */
  highestId(): Promise<number>
  /** Keeps a call for the next flush. Returns false when that must be now. */
  readonly add: (call: CallRecord) => boolean
  /** Passes all calls to the store: its next request includes them. Resolves when they survive the end of the process. */
  flush(): Promise<void>
  page(request: CallPageRequest): Promise<CallPage>
  find(id: number): Promise<CallRecord | undefined>
  savePayloads(payloads: readonly SealedPayload[]): Promise<void>
  payload(call_id: number): Promise<string | undefined>
  close(): Promise<void>
}
