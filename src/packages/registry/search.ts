import { AppError } from '../../kernel/errors.ts'
import { isPackageName } from '../spec.ts'
import { type Found, foundInPackument, type Hit, hitOf } from './hit.ts'
import { nearName } from './near-names.ts'
import type { Packument } from './packument.ts'
import { isAboutMcp, ranked, saysMcp } from './ranking.ts'

export interface SearchInput {
  readonly query: string
  /** 20 unless said, at most 50. */
  readonly size?: number
  readonly from?: number
  /** Only what has MCP in its name, keywords or description. */
  readonly mcp_only?: boolean
}

export interface SearchResult {
  readonly items: readonly Hit[]
  /** Of those that were ranked; a registry may have more that fit worse. */
  readonly total: number
  readonly next_from: number | null
  /** False when the registry has no search, and the one item was found by its exact name. */
  readonly search_available: boolean
}

/** The two questions that a search asks of a registry. */
export interface Source {
  /** Undefined when the registry has no search. */
  list(text: string): Promise<readonly Found[] | undefined>
  packument(name: string): Promise<Packument>
}

const DEFAULT_SIZE = 20
const MAX_SIZE = 50

/**
 * Ranks everything the registry gives for the query and cuts the page from that, so that pages never overlap. The query
 * is asked twice, once with `mcp` beside it: a plain `github` would have no tool server among its first hundreds.
 */
export async function search(source: Source, input: SearchInput, now: number): Promise<SearchResult> {
  const query = input.query.trim()
  const texts = [
    ...(saysMcp(query) ? [] : [`${query} mcp`]),
    ...(input.mcp_only && !saysMcp(query) ? [] : [query]),
  ]
  const [lists, exact] = await Promise.all([
    Promise.all(texts.map((text) => source.list(text))),
    isPackageName(query) ? outcomeOf(source.packument(query)) : undefined,
  ])
  const found = exact && 'value' in exact ? foundInPackument(exact.value) : undefined
  if (lists.every((list) => list === undefined)) return onlyExact(query, found, exact, now)
  const all = merged(
    lists.flatMap((list) => list ?? []),
    found,
  )
  const fitting = ranked(input.mcp_only ? all.filter(isAboutMcp) : all, query)
  return { ...pageOf(fitting, input, now), search_available: true }
}

function pageOf(fitting: readonly Found[], { from = 0, size = DEFAULT_SIZE }: SearchInput, now: number) {
  const begin = Math.max(0, Math.trunc(from))
  const end = begin + Math.min(MAX_SIZE, Math.max(1, Math.trunc(size)))
  const rivals = fitting.map(({ name, downloadsWeekly }) => ({ name, downloads: downloadsWeekly }))
  const items = fitting.slice(begin, end).map((one) => {
    return hitOf(one, nearName({ name: one.name, downloads: one.downloadsWeekly }, rivals), now)
  })
  return { items, total: fitting.length, next_from: end < fitting.length ? end : null }
}

/** Every name once. The exact one is known best from its packument, but only a search counts downloads. */
function merged(listed: readonly Found[], exact: Found | undefined): Found[] {
  const all = new Map<string, Found>()
  for (const one of listed) if (!all.has(one.name)) all.set(one.name, one)
  if (exact) {
    const { downloadsWeekly = null, description = null } = all.get(exact.name) ?? {}
    all.set(exact.name, { ...exact, downloadsWeekly, description: exact.description ?? description })
  }
  return [...all.values()]
}

/** The registry has no search, but somebody who types the whole name is still served. */
function onlyExact(
  query: string,
  found: Found | undefined,
  outcome: Outcome<Packument> | undefined,
  now: number,
): SearchResult {
  if (found) {
    const item = hitOf(found, nearName({ name: found.name, downloads: null }), now)
    return { items: [item], total: 1, next_from: null, search_available: false }
  }
  const failed = outcome && 'error' in outcome ? outcome.error : undefined
  const isMissing = failed instanceof AppError && failed.code === 'package_not_found'
  if (failed !== undefined && !isMissing) throw failed
  throw new AppError(
    'search_unavailable',
    `The registry has no search, and no package is called '${query.slice(0, 80)}'`,
    {
      hint:
        isMissing && failed.hint?.startsWith('Did you mean')
          ? failed.hint
          : 'Type the exact name of the package',
    },
  )
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/** Beside a search, the look-up by name is an extra: what goes wrong with it matters only without the search. */
async function outcomeOf<T>(work: Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work }
  } catch (error) {
    return { error }
  }
}
