import type { CallFilter } from '../../observe/calls/call-store.ts'
import { type Filters, type Keys, STATUSES } from './call-block.ts'

/** One byte for each name of a block, which is 1 where the name matches. Undefined: all match. */
type Marks = Uint8Array | undefined
type Names = readonly (string | null)[]

/** What a filter means for one block. */
interface BlockFilter {
  readonly server_id: Marks
  readonly tool: Marks
  readonly agent_type: Marks
  readonly session_id: Marks
  readonly status: Marks
  readonly minMs: number
  readonly search: Search | undefined
}

interface Search {
  /** The names that contain the text. */
  readonly names: Uint8Array
  /** The error messages of the failed calls that contain it, in their order. Undefined when none does. */
  readonly messages: readonly boolean[] | undefined
}

/** Undefined when no call of a block with these names can match. */
export function blockFilter(
  filter: CallFilter,
  names: Names,
  folded: () => string | undefined,
): BlockFilter | undefined {
  const { server_id, tool, agent_type, session_id, status, min_ms = 0, search } = filter
  let isPossible = true
  const marks = (wanted: Names | undefined, known: Names): Marks => {
    if (wanted === undefined) return undefined
    const found = new Uint8Array(known.length)
    for (const name of wanted) {
      const position = known.indexOf(name)
      if (position >= 0) found[position] = 1
    }
    if (!found.includes(1)) isPossible = false
    return found
  }
  const one = (name: string | undefined) => marks(name === undefined ? undefined : [name], names)
  const named = {
    server_id: marks(server_id, names),
    tool: one(tool),
    agent_type: one(agent_type),
    session_id: one(session_id),
    status: marks(status, STATUSES),
    minMs: min_ms,
  }
  if (!isPossible) return undefined
  return {
    ...named,
    search: search === undefined ? undefined : searchIn(search.toLowerCase(), names, folded()),
  }
}

/** A line break in a message is stored as a space. */
function searchIn(text: string, names: Names, folded: string | undefined): Search {
  const wanted = text.replaceAll('\n', ' ')
  return {
    names: Uint8Array.from(names, (name) => (name?.toLowerCase().includes(text) ? 1 : 0)),
    messages: folded?.includes(wanted) ? folded.split('\n').map((line) => line.includes(wanted)) : undefined,
  }
}

/** The rows that match, apart from their time. */
export function matchingRows(columns: Filters, filter: BlockFilter): number[] {
  const { server_id, tool, agent_type, session_id, status, minMs, search } = filter
  const found: number[] = []
  const rows = columns.status.length
  let failed = -1 // the number of the failed call that a row is
  for (let row = 0; row < rows; row += 1) {
    const isOk = columns.status[row] === 0
    if (!isOk) failed += 1
    if (status && status[columns.status[row] as number] !== 1) continue
    if (server_id && server_id[columns.server_id[row] as number] !== 1) continue
    if (tool && tool[columns.tool[row] as number] !== 1) continue
    if (agent_type && agent_type[columns.agent_type[row] as number] !== 1) continue
    if (session_id && session_id[columns.session_id[row] as number] !== 1) continue
    if (minMs > 0 && (columns.duration_ms[row] as number) < minMs) continue
    if (search && !(search.messages && !isOk && search.messages[failed])) {
      const { names } = search
      if (names[columns.tool[row] as number] !== 1 && names[columns.error_code[row] as number] !== 1) continue
    }
    found.push(row)
  }
  return found
}

/** Whether the time of a row is within the filter's. */
export function isWithin({ since = -Infinity, until = Infinity }: CallFilter, { started_at }: Keys) {
  return (row: number): boolean => {
    const at = started_at[row] ?? 0
    return at >= since && at <= until
  }
}
