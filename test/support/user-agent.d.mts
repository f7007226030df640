import type { IncomingHttpHeaders } from 'node:http'

export interface Opened {
  /** The last URL. */
  readonly url: string
  /** Its status; 0 if `until` stopped the navigation. */
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Every URL that was requested, in order. */
  readonly visited: readonly string[]
}

export interface OpenOptions {
  readonly form?: Readonly<Record<string, string>>
  readonly from?: string
  readonly until?: (url: URL) => boolean
}

export class UserAgent {
  open(url: string, options?: OpenOptions): Promise<Opened>
}
