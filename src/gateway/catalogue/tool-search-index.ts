import { setImmediate } from 'node:timers/promises'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'

export interface SearchResult {
  /** The best matches first. */
  readonly tools: readonly Definition[]
  /** The number of all matches. */
  readonly total: number
}

/** The weight of a word, by the field that contains it. */
const WEIGHTS = { name: 6, title: 3, parameters: 1.5, description: 1 }
/** The weight of a word that only starts with the query word. */
const PREFIX = 0.6
/** The constants of BM25: how fast repeated words lose weight, and how much long texts are penalized. */
const K = 1.2
const B = 0.75
const EXACT_NAME = 1000
const MAX_QUERY_WORDS = 32

interface Posting {
  /** The index of a tool that contains the word. */
  readonly tool: number
  /** The sum of the weights of all occurrences. */
  readonly weight: number
}

/** How long building the index may block other requests. */
const SLICE_MS = 10
/** Of the description of a tool, and of its parameters. */
const MAX_INDEXED_CHARS = 4000
const MAX_PARAMETERS = 200

type Search = (query: string, limit: number) => SearchResult

/** Builds a BM25 index over names, titles, descriptions and parameters, at once. Returns its search function. */
export function indexTools(tools: readonly Definition[]): Search {
  const postings = new Map<string, Posting[]>()
  const known = new Map<string, readonly string[]>() // tools use the same words again and again
  return searchIn(
    tools,
    postings,
    tools.map((definition, tool) => addTool(postings, definition, tool, known)),
  )
}

/** The same, in slices between which other requests are served. */
export async function indexInSlices(tools: readonly Definition[]): Promise<Search> {
  const postings = new Map<string, Posting[]>()
  const known = new Map<string, readonly string[]>() // tools use the same words again and again
  const lengths: number[] = []
  let sliceEndsAt = performance.now() + SLICE_MS
  for (const [tool, definition] of tools.entries()) {
    lengths.push(addTool(postings, definition, tool, known))
    if (performance.now() < sliceEndsAt) continue
    await setImmediate()
    sliceEndsAt = performance.now() + SLICE_MS
  }
  return searchIn(tools, postings, lengths)
}

/** Returns the sum of the weights of all its words. */
function addTool(
  postings: Map<string, Posting[]>,
  definition: Definition,
  tool: number,
  known: Map<string, readonly string[]>,
): number {
  let length = 0
  for (const [word, weight] of weightsOf(definition, known)) {
    const list = postings.get(word)
    if (list) list.push({ tool, weight })
    else postings.set(word, [{ tool, weight }])
    length += weight
  }
  return length
}

function searchIn(
  tools: readonly Definition[],
  postings: ReadonlyMap<string, readonly Posting[]>,
  lengths: readonly number[],
): Search {
  const averageLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, tools.length)
  const words = [...postings.keys()].sort()
  const names = tools.map(({ name }) => String(name))

  /** The scores of a query word, by tool. Of several words with this prefix, the best one counts. */
  function scoresOf(word: string): Map<number, number> {
    const scores = new Map<number, number>()
    for (const candidate of startingWith(words, word)) {
      const list = postings.get(candidate) ?? []
      const rarity = Math.log(1 + (tools.length - list.length + 0.5) / (list.length + 0.5))
      const factor = rarity * (candidate === word ? 1 : PREFIX)
      for (const { tool, weight } of list) {
        const relativeLength = 1 - B + (B * (lengths[tool] ?? 0)) / averageLength
        const score = (factor * weight * (K + 1)) / (weight + K * relativeLength)
        scores.set(tool, Math.max(score, scores.get(tool) ?? 0))
      }
    }
    return scores
  }

  return (query, limit) => {
    const totals = new Map<number, number>()
    const add = (tool: number, score: number) => totals.set(tool, (totals.get(tool) ?? 0) + score)
    for (const word of [...new Set(wordsOf(query))].slice(0, MAX_QUERY_WORDS))
      for (const [tool, score] of scoresOf(word)) add(tool, score)
    const whole = query.trim().toLowerCase()
    for (const [tool, name] of names.entries()) if (name.toLowerCase() === whole) add(tool, EXACT_NAME)
    // An empty query matches all tools.
    if (whole === '') for (const tool of names.keys()) totals.set(tool, 0)
    const nameOf = (tool: number): string => names[tool] ?? ''
    const ranked = [...totals].sort(([a, one], [b, other]) => other - one || (nameOf(a) < nameOf(b) ? -1 : 1))
    return {
      tools: ranked.slice(0, limit).flatMap(([tool]) => tools.slice(tool, tool + 1)),
      total: ranked.length,
    }
  }
}

function weightsOf(
  { name, title, description, inputSchema, annotations }: Definition,
  known: Map<string, readonly string[]>,
): Map<string, number> {
  const weights = new Map<string, number>()
  const add = (text: unknown, weight: number) => {
    if (typeof text !== 'string') return
    for (const word of wordsOf(text.slice(0, MAX_INDEXED_CHARS), known))
      weights.set(word, (weights.get(word) ?? 0) + weight)
  }
  add(name, WEIGHTS.name)
  add(title ?? memberOf(annotations, 'title'), WEIGHTS.title)
  add(description, WEIGHTS.description)
  const properties = memberOf(inputSchema, 'properties')
  if (typeof properties === 'object' && properties !== null)
    for (const parameter of Object.keys(properties).slice(0, MAX_PARAMETERS))
      add(parameter, WEIGHTS.parameters)
  return weights
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Definition)[key]
    : undefined

/** `createIssue`, `create_issue` and `Create issues` have the same words. `e-mail` also has the word `email`. */
function wordsOf(text: string, known: Map<string, readonly string[]> = new Map()): string[] {
  const compounds = text.normalize('NFKC').match(/[\p{L}\p{M}\p{N}]+(?:-[\p{L}\p{M}\p{N}]+)*/gu) ?? []
  return compounds.flatMap((compound) => {
    const words = known.get(compound) ?? wordsIn(compound)
    known.set(compound, words)
    return words
  })
}

function wordsIn(compound: string): readonly string[] {
  const parts = compound
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1-$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1-$2')
    .toLowerCase()
    .split('-')
  return (parts.length > 1 ? [...parts, parts.join('')] : parts).map(singular)
}

const singular = (word: string): string =>
  word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word

/** Finds the words with a prefix in a sorted list. A prefix of one letter matches only itself. */
function startingWith(words: readonly string[], prefix: string): string[] {
  let [low, high] = [0, words.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((words[middle] ?? '') < prefix) low = middle + 1
    else high = middle
  }
  const found: string[] = []
  for (let at = low; words[at]?.startsWith(prefix); at += 1) {
    const word = words[at] ?? ''
    if (word === prefix || prefix.length > 1) found.push(word)
  }
  return found
}

export const FIND_TOOLS = 'find_tools'
export const CALL_TOOL = 'call_tool'
export const DEFAULT_LIMIT = 10
export const MAX_LIMIT = 50
export const MAX_QUERY = 1000

/** The tools that an agent in search mode sees instead of its own. */
export const SEARCH_MODE_TOOLS = [
  {
    name: FIND_TOOLS,
    title: 'Find tools',
    description:
      'Searches the available tools and returns the best matches, each with its name, its description and the JSON Schema of its arguments. Most tools are not listed: search before you conclude that something cannot be done. Then run a tool with call_tool.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          maxLength: MAX_QUERY,
          description: 'What you want to do, in a few words, e.g. "create github issue"',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_LIMIT,
          default: DEFAULT_LIMIT,
          description: 'How many matches to return at most',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  {
    name: CALL_TOOL,
    title: 'Call a tool',
    description:
      'Runs a tool that find_tools has returned, and returns its result. The arguments must match the inputSchema that find_tools returned for it.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the tool, exactly as find_tools returned it' },
        arguments: {
          type: 'object',
          description: 'The arguments of that tool. Omit them if it takes none',
          additionalProperties: true,
        },
      },
      required: ['name'],
      additionalProperties: false,
    },
  },
]
