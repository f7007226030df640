import type { TrafficCall } from '../../data/traffic.ts'

/** Calls of one session without a long pause. */
export interface Group {
  readonly key: string
  readonly agent_type: string | null
  readonly session_id: string | null
  /** When the first call started. */
  readonly from: number
  readonly calls: readonly TrafficCall[]
  readonly spanMs: number
}

export type Row =
  | { readonly kind: 'group'; readonly key: string; readonly group: Group; readonly isOpen: boolean }
  | { readonly kind: 'call'; readonly key: number; readonly call: TrafficCall; readonly group: Group }

/** A pause of this length ends a group. A group that gets longer than this is continued in another. */
const PAUSE_MS = 10_000
const LONGEST_MS = 60_000

export const startOf = ({ started_at }: TrafficCall): number => Date.parse(started_at)

interface Open {
  readonly from: number
  end: number
  readonly calls: TrafficCall[]
}

/** The calls in groups, in the order in which the groups began. */
export function groupsOf(calls: readonly TrafficCall[]): Group[] {
  const open = new Map<string, Open>()
  const all: Open[] = []
  for (const call of calls) {
    const key = `${call.agent_type ?? ''}/${call.session_id ?? ''}`
    const start = startOf(call)
    let group = open.get(key)
    if (!group || start - group.end > PAUSE_MS || start - group.from > LONGEST_MS) {
      group = { from: start, end: start, calls: [] }
      open.set(key, group)
      all.push(group)
    }
    group.calls.push(call)
    group.end = Math.max(group.end, start + (call.duration_ms ?? 0))
  }
  return all.map(({ from, end, calls: own }) => groupOf(from, end, own))
}

function groupOf(from: number, end: number, calls: readonly TrafficCall[]): Group {
  const first = calls[0]
  return {
    key: String(first?.id),
    agent_type: first?.agent_type ?? null,
    session_id: first?.session_id ?? null,
    from,
    calls,
    spanMs: end - from,
  }
}

/** The axis of every row in view has four parts of this length: the next of 1, 2, 5, 10, 20, 50 … ms that shows the longest. */
export function scaleOf(inView: readonly Row[]): number {
  const ms = Math.max(1, ...inView.map(({ group }) => group.spanMs)) / 4
  const power = 10 ** Math.floor(Math.log10(Math.max(1, ms)))
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= ms) ?? 10 * power
}

/** What the list shows, line by line. */
export function rowsOf(groups: readonly Group[], closed: ReadonlySet<string>): Row[] {
  return groups.flatMap((group): Row[] => {
    const isOpen = !closed.has(group.key)
    const head: Row = { kind: 'group', key: `g${group.key}`, group, isOpen }
    return isOpen ? [head, ...callRows(group)] : [head]
  })
}

const callRows = (group: Group): Row[] =>
  group.calls.map((call) => ({ kind: 'call', key: call.id, call, group }))

/** Without groups: the axis of each call begins with it. */
export const flatRowsOf = (calls: readonly TrafficCall[]): Row[] =>
  calls.flatMap((call) =>
    callRows({ ...groupOf(startOf(call), startOf(call) + (call.duration_ms ?? 0), [call]), key: 'flat' }),
  )
