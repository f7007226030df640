import type { CallFilter } from '../../data/calls.ts'
import type { TrafficCall } from '../../data/traffic.ts'

/**
 * The filter of Traffic: `agent:cursor status:error server:github tool:search_* session:7f2 >500ms <2s`. A minus excludes:
 * `-server:time`. Other words are searched in the tool, the server and the code of the error. Terms with the same field
 * are alternatives, different fields must all match.
 */

const FIELDS = ['agent', 'status', 'server', 'tool', 'session'] as const
type Field = (typeof FIELDS)[number]

type Term =
  | { readonly kind: 'field'; readonly field: Field; readonly not: boolean; readonly value: string }
  | { readonly kind: 'longer'; readonly ms: number }
  | { readonly kind: 'shorter'; readonly ms: number }
  | { readonly kind: 'word'; readonly not: boolean; readonly value: string }

const UNITS: Readonly<Record<string, number>> = { '': 1, ms: 1, s: 1000, m: 60_000 }

export const termsOf = (text: string): string[] => text.split(/\s+/).filter(Boolean)

function parse(term: string): Term {
  const time = /^([<>])(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|)$/.exec(term)
  if (time) {
    const ms = Number(time[2]) * (UNITS[time[3] ?? ''] ?? 1)
    return { kind: time[1] === '>' ? 'longer' : 'shorter', ms }
  }
  const not = term.length > 1 && term.startsWith('-')
  const rest = not ? term.slice(1) : term
  const at = rest.indexOf(':')
  const field = FIELDS.find((name) => name === rest.slice(0, at))
  const value = rest.slice(at + 1).toLowerCase()
  return field && value !== ''
    ? { kind: 'field', field, not, value }
    : { kind: 'word', not, value: rest.toLowerCase() }
}

export type NameOf = (server_id: string) => string

/** Whether a call matches the whole filter. */
export function matcherOf(text: string, nameOf: NameOf): (call: TrafficCall) => boolean {
  const terms = termsOf(text).map(parse)
  return (call) => {
    const wanted = new Map<Field, boolean>()
    for (const term of terms) {
      if (term.kind === 'longer' || term.kind === 'shorter') {
        const ms = call.status === 'running' ? null : call.duration_ms
        if (ms === null || ms > term.ms !== (term.kind === 'longer')) return false
      } else if (term.kind === 'word') {
        const found = [call.tool, call.server_id, call.error_code, call.error_message].some((field) =>
          field?.toLowerCase().includes(term.value),
        )
        if (found === term.not) return false
      } else {
        const is = valuesOf(call, term.field, nameOf).some((value) => isLike(value, term.value))
        if (term.not && is) return false
        if (!term.not) wanted.set(term.field, (wanted.get(term.field) ?? false) || is)
      }
    }
    return [...wanted.values()].every(Boolean)
  }
}

function valuesOf(call: TrafficCall, field: Field, nameOf: NameOf): readonly string[] {
  switch (field) {
    case 'agent':
      return [call.agent_type ?? 'api']
    case 'status':
      return [call.status]
    case 'server':
      return call.server_id === null ? [] : [call.server_id, nameOf(call.server_id)]
    case 'tool':
      return [call.tool]
    case 'session':
      return [call.session_id ?? '', (call.session_id ?? '').slice(0, SHORT)]
  }
}

/** The part of a session's id that is shown. */
export const SHORT = 6

/** `*` stands for any text. The parts are searched one after the other, in linear time. */
function isLike(value: string, pattern: string): boolean {
  const text = value.toLowerCase()
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  const last = rest.pop() ?? ''
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}

const STATUSES = ['ok', 'error', 'timeout', 'cancelled'] as const
const ID = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** What of the filter the service can apply. The rest is applied to what it returns. */
export function queryOf(text: string, idOf: (nameOrId: string) => string | undefined): CallFilter {
  const terms = termsOf(text).map(parse)
  const values = (wanted: Field) =>
    terms.flatMap((term) => (term.kind === 'field' && term.field === wanted && !term.not ? [term.value] : []))
  const servers = values('server').map(idOf)
  const statuses = values('status').map((value) => STATUSES.find((status) => status === value))
  const [agent, ...agents] = values('agent')
  const longest = Math.max(0, ...terms.map((term) => (term.kind === 'longer' ? term.ms : 0)))
  return {
    ...(servers.length > 0 && servers.every((id) => id !== undefined) && { server_id: servers }),
    ...(statuses.length > 0 && statuses.every((status) => status !== undefined) && { status: statuses }),
    ...(agent && agents.length === 0 && agent !== 'api' && ID.test(agent) && { agent_type: agent }),
    ...(longest >= 1 && longest <= 86_400_000 && { min_ms: Math.floor(longest) }),
  }
}
