export interface Rankable {
  readonly name: string
  readonly description: string | null
  readonly keywords: readonly string[]
}

const MCP_WORD = /^(?:mcp|mcps|modelcontextprotocol)$/
const MCP_KEYWORD = /^(?:mcp|model[- ]?context[- ]?protocol)(?:[- ]?(?:server|servers|tool|tools))?$/i
const MCP_PHRASE = /\bmcp\b|\bmodel[ -]context[ -]protocol\b/i

/** True when its name, keywords or description mention MCP. */
export const isAboutMcp = (one: Rankable): boolean => mcpPoints(one) > 0

/** True when the query itself mentions MCP. */
export const mentionsMcp = (query: string): boolean =>
  wordsOf(query).some(isMcpWord) || MCP_PHRASE.test(query)

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
