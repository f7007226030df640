/** An MCP server on this computer whose agent is gone, with everything that it started. */
export interface Orphan {
  /** `<pid>-<start time>`: names one process for ever, because a pid alone is used again. */
  readonly id: string
  readonly pid: number
  /** Secrets masked. */
  readonly command: string
  readonly owner: string
  readonly age_s: number
  readonly rss_bytes: number
  readonly processes: number
}

/** What came of ending one. `gone`: there is no such orphan, or it is not one any more. */
export type OrphanEnd =
  | { readonly outcome: 'gone' }
  | { readonly outcome: 'ended' | 'not_permitted'; readonly orphan: Orphan }
