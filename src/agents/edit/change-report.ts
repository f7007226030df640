import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { ConfigTarget } from '../files/config-target.ts'
import type { FileChange } from './change-file.ts'
import type { Plan } from './change-plan.ts'
import type { ChangeOptions, ChangeReport } from './edit.schema.ts'
import type { Kept } from './file-changes.ts'

interface Reported {
  readonly plan: Plan
  readonly diff: string
  readonly revision: string | null
}

/** The response to a change. `otherDiff` is the diff of other files that were changed with it. */
export function reportOf(
  { agent, place }: ConfigTarget,
  { dry_run = false }: ChangeOptions,
  { plan, diff, revision }: Reported,
  otherDiff: string,
  kept: ReadonlyMap<string, Kept>,
): ChangeReport {
  const lost = [...kept].flatMap(([path, { foreign }]) => {
    if (foreign === null) return []
    const what = path === place.path ? 'the file' : path
    const where = foreign ? `is kept as backup ${foreign.id}` : 'could not be kept'
    return [`Another program wrote to ${what} at the same moment; its content ${where}`]
  })
  return {
    agent_type: agent.type,
    scope: place.scope,
    path: place.path,
    dry_run,
    changed: diff !== '' || otherDiff !== '',
    added: [...plan.added],
    updated: [...plan.updated],
    removed: [...plan.removed],
    parked: [...plan.parked],
    restored: [...plan.restored],
    doubled: plan.doubled.map((each) => ({ ...each, tools: [...each.tools] })),
    diff: diff + otherDiff,
    backup_id: kept.get(place.path)?.backup.id ?? null,
    revision,
    reload_hint: agent.reload,
    warnings: [...plan.warnings, ...lost],
  }
}

export function auditOf(
  action: AuditEntry['action'],
  { agent, place }: ConfigTarget,
  {
    plan: { added, updated, removed, parked, restored },
    publicDiff,
  }: Pick<FileChange, 'plan' | 'publicDiff'>,
  otherDiff: string,
  { request_id }: Caller,
): AuditEntry {
  const { scope, path } = place
  const moved = { ...(parked.length > 0 && { parked }), ...(restored.length > 0 && { restored }) }
  const detail = { scope, path, added, updated, removed, ...moved, diff: publicDiff + otherDiff }
  return { action, subject: agent.type, request_id, detail }
}

export function publishChange(facts: FactBus, { agent, place }: ConfigTarget): void {
  const { scope, path } = place
  facts.publish('agent_changed', { agent_type: agent.type, scope, path, by: 'toolroom', drift: [] })
}
