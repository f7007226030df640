import { AppError } from '../../../kernel/errors.ts'
import { isPackageName } from '../package-spec.ts'
import { nearName } from './near-names.ts'
import type { Packument } from './packument.ts'
import { type FoundPackage, foundInPackument, type Hit, hitOf } from './search-hit.ts'

export interface SearchInput {
  readonly query: string
  /** 20 by default, at most 50. */
  readonly size?: number | undefined
  readonly from?: number | undefined
  /** Only packages that mention MCP in their name, keywords or description. */
  readonly mcp_only?: boolean | undefined
}

export interface SearchResult {
  readonly items: Hit[]
  /** The number of ranked packages; the registry may have more that match less. */
  readonly total: number
  readonly next_from: number | null
  /** False when the registry has no search; the one item was found by its exact name. */
  readonly search_available: boolean
}

/** The two requests that a search sends to a registry. */
interface Source {
  /** Undefined when the registry has no search. */
  list(text: string): Promise<readonly FoundPackage[] | undefined>
  packument(name: string): Promise<Packument>
}

const DEFAULT_SIZE = 20
const MAX_SIZE = 50

/**
 * Ranks all results of the registry and returns one page of them, so that pages never overlap. The query is sent twice,
 * once with `mcp` added: the first hundreds of results for `github` alone contain no tool server.
 */
export async function search(source: Source, input: SearchInput, now: number): Promise<SearchResult> {
  const query = input.query.trim()
  const texts = [
    ...(mentionsMcp(query) ? [] : [`${query} mcp`]),
    ...(input.mcp_only && !mentionsMcp(query) ? [] : [query]),
  ]
  const [lists, exact] = await Promise.all([
    Promise.all(texts.map((text) => source.list(text))),
    isPackageName(query) ? source.packument(query).catch((error: unknown) => ({ error })) : undefined,
  ])
  // A failed lookup by name matters only when the registry has no search.
  const failure = exact && 'error' in exact ? exact.error : undefined
  const found = exact && !('error' in exact) ? foundInPackument(exact) : undefined
  if (lists.every((list) => list === undefined)) return onlyExact(query, found, failure, now)
  const all = merged(
    lists.flatMap((list) => list ?? []),
    found,
  )
  const ranking = ranked(input.mcp_only ? all.filter(isAboutMcp) : all, query)
  return { ...pageOf(ranking, input, now), search_available: true }
}

function pageOf(
  ranking: readonly FoundPackage[],
  { from = 0, size = DEFAULT_SIZE }: SearchInput,
  now: number,
) {
  const begin = Math.max(0, Math.trunc(from))
  const end = begin + Math.min(MAX_SIZE, Math.max(1, Math.trunc(size)))
  const others = ranking.map(({ name, downloadsWeekly }) => ({ name, downloads: downloadsWeekly }))
  const items = ranking.slice(begin, end).map((one) => {
    return hitOf(one, nearName({ name: one.name, downloads: one.downloadsWeekly }, others), now)
  })
  return { items, total: ranking.length, next_from: end < ranking.length ? end : null }
}

/** Every name once. The packument of the exact name has more facts, but downloads only come from the search. */
function merged(listed: readonly FoundPackage[], exact: FoundPackage | undefined): FoundPackage[] {
  const all = new Map<string, FoundPackage>()
  for (const one of listed) if (!all.has(one.name)) all.set(one.name, one)
  if (exact) {
    const { downloadsWeekly = null, description = null } = all.get(exact.name) ?? {}
    all.set(exact.name, { ...exact, downloadsWeekly, description: exact.description ?? description })
  }
  return [...all.values()]
}

/** For a registry without search: only the exact name can be found. */
function onlyExact(
  query: string,
  found: FoundPackage | undefined,
  failure: unknown,
  now: number,
): SearchResult {
  if (found) {
    const item = hitOf(found, nearName({ name: found.name, downloads: null }), now)
    return { items: [item], total: 1, next_from: null, search_available: false }
  }
  const isMissing = failure instanceof AppError && failure.code === 'package_not_found'
  if (failure !== undefined && !isMissing) throw failure
  const suggestion = isMissing && failure.hint?.startsWith('Did you mean') ? failure.hint : undefined
  throw new AppError(
    'search_unavailable',
    `The registry has no search, and no package is called '${query.slice(0, 80)}'`,
    { hint: suggestion ?? 'Enter the exact package name' },
  )
}

interface Rankable {
  readonly name: string
  readonly description: string | null
  readonly keywords: readonly string[]
}

const MCP_WORD = /^(?:mcp|mcps|modelcontextprotocol)$/
const MCP_KEYWORD = /^(?:mcp|model[- ]?context[- ]?protocol)(?:[- ]?(?:server|servers|tool|tools))?$/i
const MCP_PHRASE = /\bmcp\b|\bmodel[ -]context[ -]protocol\b/i

/** True when its name, keywords or description mention MCP. */
const isAboutMcp = (one: Rankable): boolean => mcpPoints(one) > 0

/** True when the query itself mentions MCP. */
const mentionsMcp = (query: string): boolean => wordsOf(query).some(isMcpWord) || MCP_PHRASE.test(query)

/** Best first: the exact name, then packages that match both MCP and the query. Ties keep the registry's order. */
export function ranked<T extends Rankable>(all: readonly T[], query: string): T[] {
  const text = query.trim().toLowerCase()
  const words = wordsOf(text).filter((word) => !isMcpWord(word))
  const scores = new Map(all.map((one) => [one, scoreOf(one, text, words)]))
  return [...all].sort((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0))
}

function scoreOf(one: Rankable, text: string, words: readonly string[]): number {
  if (one.name === text) return 1000
  const [mcp, query] = [mcpPoints(one), queryPoints(one, words)]
  if (query === 0 && words.length > 0) return mcp / 10 // a tool server for another purpose
  return (mcp > 0 ? 60 : 0) + mcp + query
}

function mcpPoints({ name, keywords, description }: Rankable): number {
  const inName = wordsOf(name).some(isMcpWord) ? 14 : 0
  const inKeywords = keywords.some((keyword) => MCP_KEYWORD.test(keyword.trim())) ? 10 : 0
  return inName + inKeywords + (MCP_PHRASE.test(description ?? '') ? 6 : 0)
}

/** The average per word of the query: a whole word of the name counts most, a part of it less. */
function queryPoints({ name, keywords, description }: Rankable, words: readonly string[]): number {
  if (words.length === 0) return 0
  const parts = wordsOf(name)
  const tags = keywords.map((keyword) => keyword.toLowerCase())
  const text = (description ?? '').toLowerCase()
  const points = words.map((word) => {
    const inName = parts.includes(word) ? 36 : name.includes(word) ? 22 : 0
    return inName + (tags.includes(word) ? 12 : 0) + (text.includes(word) ? 8 : 0)
  })
  return points.reduce((sum, one) => sum + one, 0) / words.length
}

const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)

/** Also names that end in it, such as `fastmcp` and `xcodebuildmcp`. */
const isMcpWord = (word: string) => MCP_WORD.test(word) || /.{3}mcp$/.test(word)
