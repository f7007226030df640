import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, listOf, orNull, Timestamp } from '../../kernel/wire.ts'
import { BackupAction, ProjectPath } from '../agents.schema.ts'
import { ChangeReport } from './edit.schema.ts'

const Names = Type.Array(Type.String({ examples: ['github'] }))

const BackupView = Type.Object({
  id: Type.String({ examples: ['1794805200000-3f2a9c1d-7b1e'] }),
  ts: Timestamp,
  agent_type: Type.String({ examples: ['cursor'] }),
  scope: Type.String({ examples: ['user'] }),
  path: Type.String({ examples: ['/home/me/.cursor/mcp.json'] }),
  action: BackupAction,
  names: Names,
  original: Type.Boolean({
    description: "The content from before Toolroom's first change. It is never deleted",
  }),
  bytes: orNull(Type.Integer({ minimum: 0, description: 'Null if there was no file', examples: [412] })),
})
component({ Backup: BackupView }, "The content of an agent's file from before a change")
export const BackupList = listOf(BackupView)
export type BackupItem = Static<typeof BackupList>['items'][number]

const Restore = Type.Object(
  {
    agent_type: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
        expected: 'the type of an agent',
        description: 'All agents if omitted',
        examples: ['cursor'],
      }),
    ),
    scope: Type.Optional(
      Type.String({ maxLength: 40, pattern: '^[a-z][a-z-]*$', expected: 'the name of a scope' }),
    ),
    project_path: Type.Optional(ProjectPath),
    dry_run: Type.Optional(
      Type.Boolean({ default: false, description: 'Report what would change without changing anything' }),
    ),
  },
  { additionalProperties: false, examples: [{ agent_type: 'cursor', dry_run: true }] },
)
component({ RestoreInput: Restore }, 'Which files to restore')
export const RestoreInput = Type.Union([Restore, Type.Null()])
export type RestoreInput = NonNullable<Static<typeof RestoreInput>>

const {
  agent_type,
  scope,
  path,
  changed,
  updated,
  removed,
  restored,
  diff,
  backup_id,
  reload_hint,
  warnings,
} = ChangeReport.properties

export const RestoreReport = Type.Object({
  dry_run: Type.Boolean(),
  items: Type.Array(
    Type.Object({
      agent_type,
      scope,
      path,
      changed,
      exact: Type.Boolean({
        description: "The file has every byte from before Toolroom's first change, or would have",
      }),
      updated,
      removed,
      restored,
      diff,
      backup_id,
      reload_hint,
      warnings,
      problem: orNull(Type.String({ description: 'Why this file was not changed' })),
    }),
    { description: 'One for each file that has something of Toolroom' },
  ),
  total: Type.Integer({ minimum: 0 }),
})
component({ RestoreReport }, 'What changed in each file')
export type RestoreReport = Static<typeof RestoreReport>
export type RestoredFile = RestoreReport['items'][number]
