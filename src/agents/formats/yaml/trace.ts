import type { Trace } from '../format.ts'

/** The state of the file before the first value was added. */
export interface Before {
  /** How many steps of the path existed. The others were created. */
  readonly depth: number
  /** How the empty value was written, from the end of its name on. Undefined if it was not empty. */
  readonly was: string | undefined
  /** The empty value was at the top of the file, on lines of its own. */
  readonly ownLine?: boolean
}

const EMPTY = /^[ \t]*(?:\{\s*\}|\[\s*\]|~|null|Null|NULL)?[ \t]*$/

export function isEmptySpelling(text: string): boolean {
  return EMPTY.test(text)
}

export function writeTrace(before: Before): Trace {
  return JSON.stringify(before)
}

/** Undefined for a trace that is damaged or from another format. */
export function readTrace(trace: Trace | undefined): Before | undefined {
  if (trace === undefined) return undefined
  try {
    const { depth, was, ownLine } = JSON.parse(trace) as Record<string, unknown>
    if (!Number.isInteger(depth)) return undefined
    if (was !== undefined && (typeof was !== 'string' || !isEmptySpelling(was))) return undefined
    return { depth: depth as number, was, ownLine: ownLine === true }
  } catch {
    return undefined
  }
}
