import type { Definition } from '../../protocol/lists.ts'
export interface Found {
  /** The best first. */
  readonly tools: readonly Definition[]
  /** How many there are beyond these, too. */
  readonly total: number
}

/** How much a word says, by where it stands. */
const WEIGHTS = { name: 6, title: 3, parameters: 1.5, description: 1 }
/** A word that only begins so is worth less than the word itself. */
const PREFIX = 0.6
/** The constants of BM25: how soon repetition stops to count, and how much long texts are held back. */
const K = 1.2
const B = 0.75
const EXACT_NAME = 1000
const MAX_QUERY_WORDS = 32

interface Posting {
  readonly tool: number
  /** How often, weighed by where. */
  readonly weight: number
}

/** Finds tools by what they are called and say of themselves. Made once for a list, then asked often. */
export function searchIn(tools: readonly Definition[]): (query: string, limit: number) => Found {
  const postings = new Map<string, Posting[]>()
  const lengths = tools.map((tool, at) => {
    const weights = weightsOf(tool)
    let length = 0
    for (const [word, weight] of weights) {
      const list = postings.get(word) ?? []
      list.push({ tool: at, weight })
      postings.set(word, list)
      length += weight
    }
    return length
  })
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, tools.length)
  const words = [...postings.keys()].sort()
  const names = tools.map(({ name }) => String(name))

  /** Of one word, by tool: the best of what it may mean there. */
  function scoresOf(word: string): Map<number, number> {
    const scores = new Map<number, number>()
    for (const candidate of beginningWith(words, word)) {
      const list = postings.get(candidate) ?? []
      const rarity = Math.log(1 + (tools.length - list.length + 0.5) / (list.length + 0.5))
      const worth = rarity * (candidate === word ? 1 : PREFIX)
      for (const { tool, weight } of list) {
        const held = 1 - B + (B * (lengths[tool] ?? 0)) / average
        const score = (worth * weight * (K + 1)) / (weight + K * held)
        scores.set(tool, Math.max(score, scores.get(tool) ?? 0))
      }
    }
    return scores
  }

  return (query, limit) => {
    const asked = [...new Set(wordsOf(query))].slice(0, MAX_QUERY_WORDS)
    const totals = new Map<number, number>()
    for (const word of asked)
      for (const [tool, score] of scoresOf(word)) totals.set(tool, (totals.get(tool) ?? 0) + score)
    const whole = query.trim().toLowerCase()
    for (const [at, name] of names.entries())
      if (name.toLowerCase() === whole) totals.set(at, (totals.get(at) ?? 0) + EXACT_NAME)
    // Who asks for nothing in particular is shown what there is.
    if (whole === '') for (const at of names.keys()) totals.set(at, 0)
    const nameOf = (at: number): string => names[at] ?? ''
    const ranked = [...totals].sort(([a, one], [b, other]) => other - one || (nameOf(a) < nameOf(b) ? -1 : 1))
    return { tools: ranked.slice(0, limit).flatMap(([at]) => tools.slice(at, at + 1)), total: ranked.length }
  }
}

function weightsOf({ name, title, description, inputSchema, annotations }: Definition): Map<string, number> {
  const weights = new Map<string, number>()
  const add = (text: unknown, weight: number) => {
    if (typeof text !== 'string') return
    for (const word of wordsOf(text)) weights.set(word, (weights.get(word) ?? 0) + weight)
  }
  add(name, WEIGHTS.name)
  add(title ?? memberOf(annotations, 'title'), WEIGHTS.title)
  add(description, WEIGHTS.description)
  const properties = memberOf(inputSchema, 'properties')
  if (typeof properties === 'object' && properties !== null)
    for (const parameter of Object.keys(properties)) add(parameter, WEIGHTS.parameters)
  return weights
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Definition)[key]
    : undefined

/** `createIssue`, `create_issue` and `Create issues` are the same words; `e-mail` is also `email`. */
function wordsOf(text: string): string[] {
  const compounds = text.normalize('NFKC').match(/[\p{L}\p{M}\p{N}]+(?:-[\p{L}\p{M}\p{N}]+)*/gu) ?? []
  return compounds.flatMap((compound) => {
    const parts = compound
      .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1-$2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1-$2')
      .toLowerCase()
      .split('-')
    return (parts.length > 1 ? [...parts, parts.join('')] : parts).map(singular)
  })
}

const singular = (word: string): string =>
  word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word

/** Of words in order. One letter begins too many of them. */
function beginningWith(words: readonly string[], start: string): string[] {
  let [low, high] = [0, words.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((words[middle] ?? '') < start) low = middle + 1
    else high = middle
  }
  const found: string[] = []
  for (let at = low; words[at]?.startsWith(start); at += 1) {
    const word = words[at] ?? ''
    if (word === start || start.length > 1) found.push(word)
  }
  return found
}
