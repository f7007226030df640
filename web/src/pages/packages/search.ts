import { flag, oneOf, searchState, text } from '../../url/search-state.ts'

export const SORTS = ['relevance', 'downloads', 'newest'] as const
export const search = searchState({
  tab: oneOf(['find', 'installed', 'updates'], 'find'),
  q: text(),
  /** Also packages that do not look like an MCP server. */
  any: flag(),
  provenance: flag(),
  scriptless: flag(),
  sort: oneOf(SORTS, 'relevance'),
})
export interface Choice {
  readonly q: string
  readonly any: boolean
  readonly provenance: boolean
  readonly scriptless: boolean
  readonly sort: (typeof SORTS)[number]
}
