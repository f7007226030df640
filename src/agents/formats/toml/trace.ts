import { CannotEdit, type Path, type Trace } from '../format.ts'
import { type Draft, draftOf, drop, innerOf, put, targetJson } from './edit.ts'
import { applied } from './lines.ts'
import { type Target, type TomlDoc, tableOf } from './model.ts'
import { walk } from './path.ts'
import { removalOfBlock } from './remove.ts'
import { scanToml } from './scan/scan.ts'
import { lastOf } from './scan/tables.ts'

/** What a `set` had to make on the way to its value. */
interface Made {
  /** How many steps of the path led to something before. */
  readonly depth: number
  /** The table that the steps lead to had no header before, only tables below it. */
  readonly header?: true
  /** What stood between the brackets of the empty list or map that the steps lead to. */
  readonly inner?: string
}

/** Undefined when taking out the value alone gives back the same bytes. `edited` is what became of the text. */
export function traceOf({ doc }: Draft, path: Path, edited: TomlDoc): Trace | undefined {
  const way = walk(doc, path)
  const container = lastOf(way)
  const depth = way.length - 1
  if (depth === path.length) return undefined
  const inner = blanksIn(doc.text, innerOf(container))
  const hasNewHeader = isWritten(way, depth) !== isWritten(walk(edited, path), depth)
  if (depth === path.length - 1 && !hasNewHeader && !inner) return undefined
  const made: Made = { depth, ...(hasNewHeader ? { header: true } : {}), ...(inner ? { inner } : {}) }
  return JSON.stringify(made)
}

/** Whether the table at this depth has a header of its own. */
function isWritten(way: readonly Target[], depth: number): boolean {
  const target = way[depth]
  return target?.type === 'table' && target.how.by === 'block'
}

/** Only blanks: other things between the brackets stay there when a value comes and goes. */
function blanksIn(text: string, inner: ReturnType<typeof innerOf>): string | undefined {
  const between = inner && text.slice(inner.start, inner.end)
  return between !== undefined && /^[ \t]+$/.test(between) ? between : undefined
}

/**
 * The text as it was before the `set` that left this trace. Undefined when doing the `set` again does not lead to the
 * present text: then somebody has changed it since, and only the value may go.
 */
export function before(draft: Draft, path: Path, trace: Trace): string | undefined {
  const made = readTrace(trace)
  if (made === undefined || made.depth >= path.length) return undefined
  const present = applied(draft.lines, [])
  const way = walk(draft.doc, path)
  if (way.length <= path.length) return undefined
  try {
    const candidate = candidateFor(draft, path, made, way)
    if (candidate === undefined) return undefined
    const again = put(draftOf(scanToml(candidate)), path, targetJson(lastOf(way)))
    return again === present ? candidate : undefined
  } catch (error) {
    if (error instanceof CannotEdit) return undefined
    throw error
  }
}

function candidateFor(draft: Draft, path: Path, made: Made, way: readonly Target[]): string | undefined {
  if (made.header) {
    const container = way[made.depth]
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
    return undefined // not ours: the plain removal is always right
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
