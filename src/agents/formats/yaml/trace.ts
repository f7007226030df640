import type { Json, Trace } from '../format.ts'

/** What was there before the first value came. */
export interface Before {
  /** How many steps of the path were there. What follows was made. */
  readonly depth: number
  /** How the empty place was written: from behind its name to its end. Undefined when it was not empty. */
  readonly was: string | undefined
  /** It had lines of its own: only the top of a file has no name to stand behind. */
  readonly ownLine?: boolean
}

const EMPTY = /^[ \t]*(?:\{\s*\}|\[\s*\]|~|null|Null|NULL)?[ \t]*$/

export function isEmptySpelling(text: string): boolean {
  return EMPTY.test(text)
}

export function writeTrace(before: Before): Trace {
  return JSON.stringify(before)
}

/** A trace that is not ours, or damaged, is as good as none. */
export function readTrace(trace: Trace | undefined): Before | undefined {
  if (trace === undefined) return undefined
  try {
    const { depth, was, ownLine } = JSON.parse(trace) as Record<string, unknown>
    if (!Number.isInteger(depth)) return undefined
    if (was !== undefined && (typeof was !== 'string' || !isEmptySpelling(was))) return undefined
    return { depth: depth as number, was, ownLine: ownLine === true }
  } catch {
    return undefined // no JSON: not written by us
  }
}

export function meaningOf(was: string): Json {
  const spelling = was.trim()
  return spelling.startsWith('{') ? {} : spelling.startsWith('[') ? [] : null
}
