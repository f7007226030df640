import { CannotEdit, type Path, type Trace } from '../format.ts'
import { type Draft, draftOf, drop, innerOf, put } from './edit.ts'
import { applied } from './lines.ts'
import { type Target, type TomlDoc, tableOf } from './model.ts'
import { walk } from './path.ts'
import { removalOfBlock } from './remove.ts'
import { scanToml } from './scan/scan.ts'
import { lastOf } from './scan/tables.ts'
import { targetJson } from './to-json.ts'

/** What a `set` created besides its value. */
interface Made {
  /** How many steps of the path existed before. */
  readonly depth: number
  /** The table at that depth had no header before, only tables below it. */
  readonly header?: true
  /** The blanks between the brackets of the empty list or inline table at that depth. */
  readonly inner?: string
}

/** Undefined if removing the value alone restores the same bytes. */
export function traceOf({ doc }: Draft, path: Path, edited: TomlDoc): Trace | undefined {
  const found = walk(doc, path)
  const depth = found.length - 1
  if (depth === path.length) return undefined
  const inner = blanksIn(doc.text, innerOf(lastOf(found)))
  const hasNewHeader = hasHeader(found, depth) !== hasHeader(walk(edited, path), depth)
  if (depth === path.length - 1 && !hasNewHeader && !inner) return undefined
  const made: Made = { depth, ...(hasNewHeader ? { header: true } : {}), ...(inner ? { inner } : {}) }
  return JSON.stringify(made)
}

function hasHeader(found: readonly Target[], depth: number): boolean {
  const target = found[depth]
  return target?.type === 'table' && target.how.by === 'block'
}

/** Undefined if there is more than blanks: comments stay when a value is added and removed. */
function blanksIn(text: string, inner: ReturnType<typeof innerOf>): string | undefined {
  const between = inner && text.slice(inner.start, inner.end)
  return between !== undefined && /^[ \t]+$/.test(between) ? between : undefined
}

/**
 * The text before the `set` that returned this trace. Undefined if repeating that `set` does not lead to the current
 * text: then the file was changed since, and only the value may be removed.
 */
export function textBefore(draft: Draft, path: Path, trace: Trace): string | undefined {
  const made = readTrace(trace)
  if (made === undefined || made.depth >= path.length) return undefined
  const present = applied(draft.lines, [])
  const found = walk(draft.doc, path)
  if (found.length <= path.length) return undefined
  try {
    const candidate = candidateFor(draft, path, made, found)
    if (candidate === undefined) return undefined
    const again = put(draftOf(scanToml(candidate)), path, targetJson(lastOf(found)))
    return again === present ? candidate : undefined
  } catch (error) {
    if (error instanceof CannotEdit) return undefined
    throw error
  }
}

function candidateFor(draft: Draft, path: Path, made: Made, found: readonly Target[]): string | undefined {
  if (made.header) {
    const container = found[made.depth]
    const how = container && tableOf(container)?.how
    if (how?.by !== 'block') return undefined
    return applied(draft.lines, removalOfBlock(draft.doc, how.block))
  }
  const shorter = drop(draft, path.slice(0, made.depth + 1))
  if (made.inner === undefined) return shorter
  const { lines, doc } = draftOf(scanToml(shorter))
  const left = walk(doc, path.slice(0, made.depth))
  const inner = left.length > made.depth ? innerOf(lastOf(left)) : undefined
  return inner && applied(lines, [{ ...inner, text: made.inner }])
}

function readTrace(trace: Trace): Made | undefined {
  let made: unknown
  try {
    made = JSON.parse(trace)
  } catch {
    return undefined // a trace of another format: only the value is removed
  }
  if (typeof made !== 'object' || made === null) return undefined
  const { depth, header, inner } = made as Record<string, unknown>
  if (!Number.isInteger(depth) || Number(depth) < 0) return undefined
  return {
    depth: Number(depth),
    ...(header === true ? { header } : {}),
    ...(typeof inner === 'string' ? { inner } : {}),
  }
}
