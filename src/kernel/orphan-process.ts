/** An MCP server process on this computer whose agent has ended, with all its child processes. */
export interface Orphan {
  /** `<pid>-<start time>`: unique, whereas a pid is reused. */
  readonly id: string
  readonly pid: number
  /** Secrets masked. */
  readonly command: string
  readonly owner: string
  readonly age_s: number
  readonly rss_bytes: number
  readonly processes: number
}

/** The outcome of ending an orphan. `gone`: no such orphan, or no longer one. */
export type OrphanEnd =
  | { readonly outcome: 'gone' }
  | { readonly outcome: 'ended' | 'not_permitted'; readonly orphan: Orphan }
