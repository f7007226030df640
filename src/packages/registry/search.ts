export interface TrustFact {
  readonly fact: string
  readonly state: 'good' | 'look' | 'unknown'
  readonly detail: string
}

/** One package as a search shows it. The caller adds `installed`. */
export interface Hit {
  readonly name: string
  readonly version: string | null
  readonly description: string | null
  readonly keywords: readonly string[]
  readonly publisher: string | null
  readonly date: string | null
  readonly license: string | null
  readonly downloads_weekly: number | null
  readonly trust: readonly TrustFact[]
}

export interface SearchInput {
  readonly query: string
  readonly size?: number
  readonly from?: number
  readonly mcp_only?: boolean
}

export interface SearchResult {
  readonly items: readonly Hit[]
  readonly total: number
  readonly next_from: number | null
  readonly search_available: boolean
}
