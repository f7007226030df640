import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, listOf, mapOf, orNull, Timestamp } from '../../kernel/wire.ts'
import { BackupAction, ProjectPath, Revision } from '../read/agents.schema.ts'

const Text = Type.String({ maxLength: 32_768 })
const Values = mapOf('^[^\\u0000-\\u001f\\u007f]{1,256}$', Text, 256)
const Name = Type.String({ minLength: 1, maxLength: 128 })
const Scope = Type.String({ maxLength: 40, pattern: '^[a-z][a-z-]*$', expected: 'the name of a scope' })
const TYPES = ['stdio', 'http', 'sse', 'streamable_http', 'streamable-http'] as const

/** A server for an agent's file. The catalogue translates it into the fields of each agent. */
const entry = {
  type: Type.Optional(Type.Enum(TYPES)),
  command: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4096, pattern: '^[^\\u0000-\\u001f]+$', expected: 'one line' }),
  ),
  args: Type.Optional(Type.Array(Text, { maxItems: 256 })),
  env: Type.Optional(Values),
  cwd: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 4096 }))),
  url: Type.Optional(
    Type.String({
      maxLength: 8192,
      pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s]+$',
      expected: 'an http or https URL',
    }),
  ),
  headers: Type.Optional(Values),
  enabled: Type.Optional(Type.Boolean()),
}
export const EntryInput = Type.Object(entry, {
  additionalProperties: false,
  minProperties: 1,
  examples: [{ command: 'npx', args: ['-y', '@modelcontextprotocol/server-github'] }],
})
export type EntryInput = Static<typeof EntryInput>

/** Options of every change of a file. */
const options = {
  scope: Type.Optional(Type.String({ ...Scope, default: 'user' })),
  project_path: Type.Optional(ProjectPath),
  dry_run: Type.Optional(
    Type.Boolean({ default: false, description: 'Report what would change without changing anything' }),
  ),
  revision: Type.Optional(Revision),
  create: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Create the folder of an agent that was not found on this computer',
    }),
  ),
}
export interface ChangeOptions {
  readonly scope?: string
  readonly project_path?: string
  readonly dry_run?: boolean
  readonly revision?: string
  readonly create?: boolean
}

const ServerIds = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 500 })

export const PutServers = Type.Object(
  {
    servers: Type.Optional(mapOf('^[^\\u0000-\\u001f\\u007f]{1,128}$', EntryInput, 500)),
    server_ids: Type.Optional(ServerIds),
    enable: Type.Optional(
      Type.Boolean({ default: false, description: 'Enable entries of `server_ids` that are disabled' }),
    ),
    remove: Type.Optional(
      Type.Array(Name, {
        minItems: 1,
        maxItems: 500,
        description: 'Names of entries to remove in the same change; only with `via: direct`',
      }),
    ),
    mode: Type.Optional(
      Type.Enum(['merge', 'replace'], {
        default: 'merge',
        description: '`replace` also removes the other entries that Toolroom manages in this file',
      }),
    ),
    via: Type.Optional(
      Type.Enum(['direct', 'gateway'], {
        default: 'direct',
        description:
          '`gateway` writes entries that lead to the gateway: one for each of `server_ids`, or one for all servers',
      }),
    ),
    ...options,
  },
  {
    additionalProperties: false,
    examples: [{ server_ids: ['github'], remove: ['fetch'], dry_run: true }],
  },
)
export type PutServers = Static<typeof PutServers>
component({ AgentServersInput: PutServers }, 'Entries to write')

const Names = Type.Array(Name, {
  minItems: 1,
  maxItems: 500,
  description: 'All entries that Toolroom manages, if omitted',
})

const Remove = Type.Object({ names: Type.Optional(Names), ...options }, { additionalProperties: false })
component({ AgentServersRemoval: Remove }, 'Entries to remove')
export const RemoveBody = Type.Union([Remove, Type.Null()])
export const RemoveQuery = Type.Object(
  {
    name: Type.Optional(Names),
    scope: Type.Optional(Scope),
    project_path: Type.Optional(ProjectPath),
    dry_run: Type.Optional(Type.Boolean()),
    revision: Type.Optional(Revision),
  },
  { additionalProperties: false },
)

export const AddHttpServer = Type.Object(
  {
    server_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    name: Type.Optional(Name),
    type: Type.Optional(Type.Enum(['http', 'sse', 'streamable_http', 'streamable-http'])),
    url: entry.url,
    headers: entry.headers,
    enabled: entry.enabled,
    ...options,
  },
  { additionalProperties: false, minProperties: 1, examples: [{ server_id: 'docs' }] },
)
export type AddHttpServer = Static<typeof AddHttpServer>
component({ AgentHttpServerInput: AddHttpServer }, 'A registered HTTP server, or an entry')

const bridge = Type.Optional(
  Type.Boolean({
    default: false,
    description: 'Write a local command instead of a URL; always used for agents that accept no URL',
  }),
)
const takeOver = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Park the entries in this file whose servers the gateway offers to the agent, so that it does not get their tools twice. `disconnect` restores them',
  }),
)
const Connect = Type.Object({ bridge, take_over: takeOver, ...options }, { additionalProperties: false })
component({ ConnectInput: Connect }, 'How to connect the agent')
export const ConnectInput = Type.Union([Connect, Type.Null()])
const Disconnect = Type.Object(options, { additionalProperties: false })
component({ DisconnectInput: Disconnect }, 'From which file to remove the entry')
export const DisconnectInput = Type.Union([Disconnect, Type.Null()])

export const UndoInput = Type.Object(
  {
    backup_id: Type.Optional(
      Type.String({ maxLength: 40, description: 'From the history; the newest change if omitted' }),
    ),
    scope: options.scope,
    project_path: options.project_path,
    dry_run: options.dry_run,
    revision: options.revision,
  },
  { additionalProperties: false },
)
export type UndoInput = Static<typeof UndoInput>
component({ UndoInput }, 'Which change to undo')

export const ChangeReport = Type.Object({
  agent_type: Type.String(),
  scope: Type.String(),
  path: Type.String(),
  dry_run: Type.Boolean(),
  changed: Type.Boolean(),
  added: Type.Array(Type.String()),
  updated: Type.Array(Type.String()),
  removed: Type.Array(Type.String()),
  parked: Type.Array(Type.String(), {
    description: 'Entries that the gateway replaces. They left the file and are kept by Toolroom',
  }),
  restored: Type.Array(Type.String(), { description: 'Parked entries that are back in the file' }),
  doubled: Type.Array(
    Type.Object({
      name: Type.String({ description: "The agent's own entry", examples: ['github'] }),
      server_id: Type.String({ examples: ['github'] }),
      tools: Type.Array(Type.String(), { description: 'Empty if they are not known yet' }),
    }),
    { description: 'Tools that the agent gets twice: from its own entry and from the gateway' },
  ),
  diff: Type.String({ description: 'A unified diff with secrets masked' }),
  backup_id: orNull(Type.String()),
  revision: orNull(Revision),
  reload_hint: orNull(Type.String()),
  warnings: Type.Array(Type.String()),
})
export type ChangeReport = Static<typeof ChangeReport>
component({ AgentChangeReport: ChangeReport }, "What has changed in the agent's file")

const BackupView = Type.Object({
  id: Type.String({ examples: ['1794805200000-3f2a9c1d-7b1e'] }),
  ts: Timestamp,
  agent_type: Type.String({ examples: ['cursor'] }),
  scope: Type.String({ examples: ['user'] }),
  path: Type.String({ examples: ['/home/me/.cursor/mcp.json'] }),
  action: BackupAction,
  names: Type.Array(Type.String({ examples: ['github'] })),
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
