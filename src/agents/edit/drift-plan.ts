import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { driftOf } from '../read/drift.ts'
import type { DriftInput } from './edit.schema.ts'
import { type CurrentConfig, Draft, type Plan } from './entry-plan.ts'

/** What another program has changed or removed of ours is written again, or counts as ours as it is now. */
export function planKeep(target: ConfigTarget, current: CurrentConfig, keep: DriftInput['keep']): Plan {
  const draft = new Draft(target, current)
  const { entries, record } = current
  for (const { name } of driftOf({ record, state: { entries, parseError: null, problem: null } }))
    if (keep === 'toolroom') draft.writeAgain(name)
    else draft.accept(name)
  return draft.plan
}
