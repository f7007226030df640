import { LEVEL_RANK, LEVELS } from '../../src/kernel/log.ts'
import type { ResolvedFilter, StoredEntry } from '../../src/observe/logs/log-store.ts'

/** A model of the log: an array that is filtered line by line. */
export interface ModelLine extends StoredEntry {
  readonly id: number
}

export class ModelLog {
  lines: readonly ModelLine[] = []
  #lastId = 0

  append(entries: readonly StoredEntry[]): void {
    this.lines = [...this.lines, ...entries.map((entry) => ({ ...entry, id: ++this.#lastId }))]
  }

  ids(filter: ResolvedFilter, order: 'asc' | 'desc'): number[] {
    const ids = this.lines.filter((line) => meets(line, filter)).map(({ id }) => id)
    return order === 'asc' ? ids : ids.reverse()
  }

  clear(filter: ResolvedFilter): number {
    const before = this.lines.length
    this.lines = this.lines.filter((line) => line.source === 'audit' || !meets(line, filter))
    return before - this.lines.length
  }
}

/** A line with default values, except for the given fields. */
export function entry(given: Partial<StoredEntry> = {}): StoredEntry {
  return {
    ts: 1_000,
    level: 'info',
    source: 'server',
    stream: null,
    server_id: null,
    agent_type: null,
    tool: null,
    request_id: null,
    message: 'a line',
    data: null,
    repeat: 1,
    truncated: false,
    ...given,
  }
}

function meets(line: StoredEntry, filter: ResolvedFilter): boolean {
  const { level = LEVELS[0], search, since = -Infinity, until = Infinity } = filter
  const oneOf = <T>(values: readonly T[] | undefined, value: T | null | undefined) =>
    values === undefined || values.some((wanted) => wanted === value)
  const equals = (wanted: string | undefined, value: string | null | undefined) =>
    wanted === undefined || wanted === value
  return (
    LEVEL_RANK[line.level] >= LEVEL_RANK[level] &&
    oneOf(filter.source, line.source) &&
    oneOf(filter.stream, line.stream) &&
    oneOf(filter.server_id, line.server_id) &&
    equals(filter.agent_type, line.agent_type) &&
    equals(filter.tool, line.tool) &&
    equals(filter.request_id, line.request_id) &&
    (search === undefined || contains(line.message, search)) &&
    line.ts >= since &&
    line.ts <= until
  )
}

function contains(message: string, term: string): boolean {
  return new RegExp(term.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu').test(message)
}
