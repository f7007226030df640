import { isObject, type Schema } from './schema.ts'

/**
 * Patterns come from servers. One that backtracks without a bound would stop the page, so a pattern is evaluated only
 * if its cost on the given text is small. The others are left out: the server decides.
 */

/** Steps of a matcher that take no noticeable time. */
const MOST_STEPS = 1e7

/** An upper bound of the steps that a pattern needs on a text of this length; Infinity if there is none. */
export function stepsOf(pattern: string, length: number): number {
  // Groups that may be repeated must not contain a choice: each repetition would multiply the ways to match.
  const groups = [{ isChoice: false }]
  let steps = length + 1 // it may begin anywhere
  let before: { readonly isChoice: boolean } | undefined
  for (let at = 0; at < pattern.length; at += 1) {
    const sign = pattern[at] as string
    const rest = pattern.slice(at, at + 24)
    const group = groups.at(-1)
    if (!group) return Number.POSITIVE_INFINITY
    const quantifier = /^(?:[*+?]|\{\d{1,9}(?:,\d{0,9})?\})\??/.exec(rest)?.[0]
    if (quantifier !== undefined && before) {
      const most = mostOf(quantifier, length)
      if (before.isChoice && most > 1) return Number.POSITIVE_INFINITY
      const isFixed = /^\{\d+\}/.test(quantifier)
      if (!isFixed) group.isChoice = true
      steps *= isFixed ? 1 : most + 1
      at += quantifier.length - 1
      before = undefined
      continue
    }
    if (sign === '(') {
      if (/^\((?:\?[=!]|\?<[=!])/.test(rest)) return Number.POSITIVE_INFINITY
      groups.push({ isChoice: false })
      before = undefined
    } else if (sign === ')') {
      const ended = groups.pop()
      before = ended
      const outer = groups.at(-1)
      if (ended?.isChoice && outer) outer.isChoice = true
    } else if (sign === '|') {
      group.isChoice = true
      steps *= 2
      before = undefined
    } else if (sign === '[') {
      at = endOfClass(pattern, at)
      before = { isChoice: false }
    } else if (sign === '\\') {
      if (/^\\(?:[1-9]|k)/.test(rest)) return Number.POSITIVE_INFINITY // what it matches has no bound
      at += 1
      before = { isChoice: false }
    } else before = { isChoice: false }
  }
  return steps
}

function mostOf(quantifier: string, length: number): number {
  if (quantifier.startsWith('?')) return 1
  const [, least = '', comma, most] = /^\{(\d+)(,?)(\d*)\}/.exec(quantifier) ?? []
  if (least === '') return length
  return Math.min(length, comma === '' ? Number(least) : most ? Number(most) : length)
}

function endOfClass(pattern: string, from: number): number {
  for (let at = from + 1; at < pattern.length; at += 1) {
    if (pattern[at] === '\\') at += 1
    else if (pattern[at] === ']') return at
  }
  return pattern.length
}

/** Their values are data, not schemas. */
const DATA = ['const', 'enum', 'default', 'examples', 'example']

/** The schema without the patterns that are too costly for this value, and whether there are any. */
export function affordable(
  schema: Schema,
  value: unknown,
): { readonly schema: Schema; readonly left: boolean } {
  const length = longestIn(value)
  let left = false
  const mayStay = (pattern: string): boolean => {
    const isCheap = stepsOf(pattern, length) <= MOST_STEPS
    if (!isCheap) left = true
    return isCheap
  }
  const walk = (given: unknown): unknown => {
    if (Array.isArray(given)) return given.map(walk)
    if (!isObject(given)) return given
    const members = Object.entries(given).flatMap(([name, member]): [string, unknown][] => {
      if (DATA.includes(name)) return [[name, member]]
      if (name === 'pattern' && typeof member === 'string') return mayStay(member) ? [[name, member]] : []
      if (name === 'patternProperties' && isObject(member))
        return [
          [
            name,
            Object.fromEntries(
              Object.entries(member)
                .filter(([key]) => mayStay(key))
                .map(([key, each]) => [key, walk(each)]),
            ),
          ],
        ]
      return [[name, walk(member)]]
    })
    return Object.fromEntries(members)
  }
  return { schema: walk(schema) as Schema, left }
}

/** The length of the longest text in a value, names included. */
function longestIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.entries(value).reduce(
    (most, [name, member]) => Math.max(most, name.length, longestIn(member)),
    0,
  )
}
