/** What went wrong, for the person who must act. */
export interface LastError {
  readonly code: string
  /** One sentence with the cause. */
  readonly message: string
  /** What to do next, in one sentence. */
  readonly hint: string | null
}

/** Where a tool server is in its life. Each status carries exactly the facts that are true in it. */
export type ServerState =
  | { readonly status: 'stopped' }
  | { readonly status: 'starting'; readonly attempt: number }
  | { readonly status: 'running'; readonly pid: number; readonly started_at: number }
  | { readonly status: 'stopping'; readonly step: 'stdin_closed' | 'terminated' | 'killed' }
  | {
      readonly status: 'backoff'
      readonly attempt: number
      readonly next_retry_at: number
      readonly error: LastError
    }
  | { readonly status: 'failed'; readonly error: LastError }
