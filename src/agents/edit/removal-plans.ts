import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { GATEWAY_ENTRY, readGatewayEntry } from '../catalogue/gateway-entry.ts'
import type { Json } from '../catalogue/json-value.ts'
import { keyOf } from '../catalogue/write-entry.ts'
import type { Entry } from '../read/read-entries.ts'
import { type CurrentConfig, Draft, type Plan } from './entry-plan.ts'

/** Without names, all managed entries are removed, and what was parked comes back. */
export function planRemove(target: ConfigTarget, current: CurrentConfig, names?: readonly string[]): Plan {
  const draft = new Draft(target, current)
  for (const name of names ?? managedIn(current)) draft.remove(keyOf(target.agent, name))
  if (!names) bringBack(draft, current)
  return draft.plan
}

/** The entries that lead to the gateway leave, and those that they replaced come back. */
export function planDisconnect(target: ConfigTarget, current: CurrentConfig): Plan {
  const draft = new Draft(target, current)
  const { owned, taken, entries } = current
  const isOurs = ({ name, definition }: Entry) =>
    readGatewayEntry(definition) && (name === GATEWAY_ENTRY || Object.hasOwn(owned, name))
  const isPerServer = taken.some(({ replaced }) => replaced)
  const added = isPerServer ? entries.filter((entry) => isOurs(entry) && !draft.isReplaced(entry.name)) : []
  draft.restoreTaken()
  for (const { name } of added) draft.remove(name)
  const own = entries.find(({ name }) => name === GATEWAY_ENTRY)
  if (Object.hasOwn(owned, GATEWAY_ENTRY) || (own && isOurs(own))) draft.remove(GATEWAY_ENTRY)
  return draft.plan
}

/**
 * Removes everything of ours, and returns what was parked. Entries that were there before us and that we have updated get
 * their former value from `originals`.
 */
export function planRestore(
  target: ConfigTarget,
  current: CurrentConfig,
  originals: ReadonlyMap<string, Json>,
): Plan {
  const draft = new Draft(target, current)
  for (const name of managedIn(current)) {
    const original = name === GATEWAY_ENTRY ? undefined : originals.get(name)
    if (original === undefined || !draft.restore(name, original)) draft.remove(name)
  }
  bringBack(draft, current)
  return draft.plan
}

/** What was taken over, and the user's own entries that were switched off. */
function bringBack(draft: Draft, { owned }: CurrentConfig): void {
  draft.restoreTaken()
  for (const [name, { own }] of Object.entries(owned)) if (own) draft.unpark(name)
}

/** Those that were taken over come first: the gateway entry would bring them back. One in the place of a user's own is not listed. */
function managedIn({ owned, taken }: CurrentConfig): string[] {
  const replaced = new Set(taken.flatMap((entry) => (entry.replaced ? [entry.name] : [])))
  return [
    ...taken.flatMap((entry) => (entry.owned ? [entry.name] : [])),
    ...Object.keys(owned).filter((name) => !replaced.has(name) && !owned[name]?.own),
  ]
}
