import { GATEWAY_ENTRY } from '../catalogue/gateway-entry.ts'
import type { Choice, Chosen, FileRecord } from '../files/ownership-store.ts'
import type { Plan } from './entry-plan.ts'

/**
 * What a change does to the servers that the agent sees at the gateway. When the file no longer leads there, the agent gets
 * the choice from before it was connected, unless the user has changed it since.
 */
export function choiceIn(plan: Plan, record: FileRecord | undefined, now: Choice): Chosen | null {
  if (plan.gateway) return { before: now, after: plan.gateway.servers }
  const since = record?.chosen ?? null
  return since && !planLeadsThere(plan) && isSameChoice(since.after, now)
    ? { before: now, after: since.before }
    : null
}

/** What the record of the file remembers after the change. */
export function chosenSince(
  plan: Plan,
  record: FileRecord | undefined,
  chosen: Chosen | null,
): Chosen | null {
  const since = record?.chosen ?? null
  if (!plan.gateway || !chosen) return planLeadsThere(plan) ? since : null
  const isFirst = since === null || !isSameChoice(since.after, chosen.before)
  return isFirst ? chosen : { before: since.before, after: chosen.after }
}

/** An entry of the file leads to the gateway, or something is parked for the one that did. */
export const leadsThere = ({ entries, taken_over }: Pick<FileRecord, 'entries' | 'taken_over'>): boolean =>
  Object.hasOwn(entries, GATEWAY_ENTRY) || (taken_over?.entries.length ?? 0) > 0

const planLeadsThere = ({ entries, taken }: Plan): boolean =>
  Object.hasOwn(entries, GATEWAY_ENTRY) || taken.length > 0

/** The order of the servers says nothing. */
export const isSameChoice = (one: Choice, other: Choice): boolean =>
  JSON.stringify(one && [...one].sort()) === JSON.stringify(other && [...other].sort())
