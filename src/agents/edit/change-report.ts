import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { ConfigTarget } from '../files/config-target.ts'
import type { FileChange } from './change-file.ts'
import type { ChangeOptions, ChangeReport } from './edit.schema.ts'

type Reported = Pick<FileChange, 'plan' | 'diff' | 'revision' | 'backup' | 'foreign'>

/** The response to a change. `otherDiff` is the diff of other files that were changed with it. */
export function reportOf(
  { agent, place }: ConfigTarget,
  { dry_run = false }: ChangeOptions,
  { plan, diff, revision, backup, foreign }: Reported,
  otherDiff: string,
): ChangeReport {
  const lost = foreign
    ? [`Another program wrote to the file at the same moment; its content is kept as backup ${foreign.id}`]
    : []
  return {
    agent_type: agent.type,
    scope: place.scope,
    path: place.path,
    dry_run,
    changed: diff !== '' || otherDiff !== '',
    added: [...plan.added],
    updated: [...plan.updated],
    removed: [...plan.removed],
    diff: diff + otherDiff,
    backup_id: backup?.id ?? null,
    revision,
    reload_hint: agent.reload,
    warnings: [...plan.warnings, ...lost],
  }
}

export function auditOf(
  action: AuditEntry['action'],
  { agent, place }: ConfigTarget,
  { plan: { added, updated, removed }, diff }: Reported,
  otherDiff: string,
  { request_id }: Caller,
): AuditEntry {
  const { scope, path } = place
  const detail = { scope, path, added, updated, removed, diff: diff + otherDiff }
  return { action, subject: agent.type, request_id, detail }
}

export function publishChange(facts: FactBus, { agent, place }: ConfigTarget): void {
  const { scope, path } = place
  facts.publish('agent_changed', { agent_type: agent.type, scope, path, by: 'toolroom', drift: [] })
}
