import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { AGENTS, type Platform } from '../catalogue/agent-catalogue.ts'
import type { Json } from '../catalogue/json-value.ts'
import { agentOf, recordedTarget } from '../files/config-target.ts'
import type { Backup, Backups } from '../files/file-backups.ts'
import type { FileRecord, OwnershipStore } from '../files/ownership-store.ts'
import { contentOf } from '../files/read-config.ts'
import { readEntries } from '../read/read-entries.ts'
import type { BackupItem, RestoredFile, RestoreInput, RestoreReport } from './edit.schema.ts'
import type { Edit } from './edit.service.ts'
import { planRestore } from './removal-plans.ts'

interface Deps {
  readonly platform: Platform
  readonly backups: Backups
  readonly ownership: OwnershipStore
  readonly edit: Edit
}

/** Takes everything of Toolroom out of agents' files, and lists their backups. */
export function createRestore({ platform, backups, ownership, edit }: Deps) {
  async function restoreFile(record: FileRecord, dry_run: boolean, by: Caller): Promise<RestoredFile> {
    const { agent_type, scope, path } = record
    const failed = { agent_type, scope, path, ...UNCHANGED }
    try {
      // The file of the record, also if the agent uses another one now.
      const now = recordedTarget(platform, record)
      const target = { ...now, config: { ...now.config, path } }
      const own = backups.ofFile(agent_type, path)
      const [newest, first] = [own[0], own.at(-1)]
      const report = await edit.change(target, { dry_run }, by, {
        action: 'restore',
        plan: (_, current) => ({
          ...planRestore(target, current, entriesBefore(target, first)),
          // If only we have written to the file, it gets back the bytes that it had before.
          exact:
            first && newest?.unbroken && newest.after === (current.content?.revision ?? null)
              ? backups.content(first)
              : undefined,
        }),
      })
      const { changed, updated, removed, restored, diff, backup_id, reload_hint, warnings, revision } = report
      const shown = { changed, updated, removed, restored, diff, backup_id, reload_hint, warnings }
      return { ...failed, ...shown, exact: first !== undefined && first.before === revision }
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      return { ...failed, problem: error.message }
    }
  }

  /** The entries of the first backup. None if it cannot be read any more. */
  function entriesBefore(target: ConfigTarget, first: Backup | undefined): ReadonlyMap<string, Json> {
    const bytes = first && backups.content(first)
    if (!bytes) return new Map()
    try {
      const { entries } = readEntries(target, contentOf(target.config.path, bytes).text)
      return new Map(entries.map(({ name, value }) => [name, value]))
    } catch {
      return new Map()
    }
  }

  return {
    backups(): BackupItem[] {
      const all = AGENTS.flatMap(({ type }) => backups.of(type)).sort((a, b) => (a.id < b.id ? 1 : -1))
      const originals = new Map(all.map(({ agent_type, path, id }) => [`${agent_type}\0${path}`, id]))
      return all.map((backup) => {
        const { id, ts, agent_type, scope, path, action, names } = backup
        const original = originals.get(`${agent_type}\0${path}`) === id
        const bytes = backups.sizeOf(backup)
        return { id, ts: isoTime(ts), agent_type, scope, path, action, names: [...names], original, bytes }
      })
    },

    async restore({ dry_run = false, ...input }: RestoreInput, by: Caller): Promise<RestoreReport> {
      const type = input.agent_type === undefined ? undefined : agentOf(input.agent_type).type
      const records = ownership.all().filter((record) => {
        const { agent_type, scope, project_path, entries, taken_over = null } = record
        const isAsked =
          (type === undefined || agent_type === type) &&
          (input.scope === undefined || scope === input.scope) &&
          (input.project_path === undefined || project_path === input.project_path)
        return isAsked && (Object.keys(entries).length > 0 || taken_over !== null)
      })
      const items: RestoredFile[] = []
      for (const record of records) items.push(await restoreFile(record, dry_run, by))
      return { dry_run, items, total: items.length }
    },
  }
}

const UNCHANGED = {
  changed: false,
  exact: false,
  updated: [],
  removed: [],
  restored: [],
  diff: '',
  backup_id: null,
  reload_hint: null,
  warnings: [],
  problem: null,
}
