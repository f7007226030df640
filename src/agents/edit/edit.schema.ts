import * as Type from 'typebox'
import { component, listOf, mapOf, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import {
  boolean,
  closed,
  flag,
  integer,
  objects,
  optional,
  partial,
  text,
  textOrNull,
  texts,
} from '../../kernel/schema-fields.ts'
import { BackupAction, ComparedValues, ProjectPath, Revision } from '../read/agents.schema.ts'

const Text = Type.String({ maxLength: 32_768 })
const Values = mapOf('^[^\\u0000-\\u001f\\u007f]{1,256}$', Text, 256)
const Name = Type.String({ minLength: 1, maxLength: 128 })
const Scope = Type.String({ maxLength: 40, pattern: '^[a-z][a-z-]*$', expected: 'the name of a scope' })
const HTTP_TYPES = ['http', 'sse', 'streamable_http', 'streamable-http'] as const

/** A server for an agent's file. The catalogue translates it into the fields of each agent. */
const entry = {
  type: Type.Enum(['stdio', ...HTTP_TYPES]),
  command: Type.String({
    minLength: 1,
    maxLength: 4096,
    pattern: '^[^\\u0000-\\u001f]+$',
    expected: 'one line',
  }),
  args: Type.Array(Text, { maxItems: 256 }),
  env: Values,
  cwd: orNull(Type.String({ minLength: 1, maxLength: 4096 })),
  url: Type.String({
    maxLength: 8192,
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s]+$',
    expected: 'an http or https URL',
  }),
  headers: Values,
  enabled: Type.Boolean(),
}
export const EntryInput = partial(entry, {
  minProperties: 1,
  examples: [{ command: 'npx', args: ['-y', '@modelcontextprotocol/server-github'] }],
})
export type EntryInput = Type.Static<typeof EntryInput>

/** Options of every change of a file. */
const undoOptions = optional({
  scope: Type.String({ ...Scope, default: 'user' }),
  project_path: ProjectPath,
  dry_run: flag('Report what would change without changing anything'),
  revision: Revision,
})
const options = {
  ...undoOptions,
  create: flag('Create the folder of an agent that was not found on this computer'),
}

const ServerIds = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 500 })

export const PutServers = partial({
  servers: mapOf('^[^\\u0000-\\u001f\\u007f]{1,128}$', EntryInput, 500),
  server_ids: ServerIds,
  enable: flag('Enable entries of `server_ids` that are disabled'),
  remove: Type.Array(Name, {
    minItems: 1,
    maxItems: 500,
    description: 'Names of entries to remove in the same change; only with `via: direct`',
  }),
  disable: Type.Array(Name, {
    minItems: 1,
    maxItems: 500,
    description:
      "Names of entries to switch off: by the agent's own switch, or they leave the file and are kept as they are. `enable` of their server brings them back; only with `via: direct`",
  }),
  mode: Type.Enum(['merge', 'replace'], {
    default: 'merge',
    description: '`replace` also removes the other entries that Toolroom manages in this file',
  }),
  via: Type.Enum(['direct', 'gateway'], {
    default: 'direct',
    description:
      '`gateway` writes entries that lead to the gateway: one for each of `server_ids`, or one for all servers',
  }),
  ...options,
})
export type PutServers = Type.Static<typeof PutServers>
component({ AgentServersInput: PutServers }, 'Entries to write', {
  examples: [{ server_ids: ['github'], remove: ['fetch'], dry_run: true }],
})

const Names = Type.Array(Name, {
  minItems: 1,
  maxItems: 500,
  description: 'All entries that Toolroom manages, if omitted',
})

const Remove = partial({ names: Names, ...options })
component({ AgentServersRemoval: Remove }, 'Entries to remove')
export const RemoveBody = Type.Union([Remove, Type.Null()])
export const RemoveQuery = partial({
  name: Names,
  scope: Scope,
  project_path: ProjectPath,
  dry_run: Type.Boolean(),
  revision: Revision,
})

export const AddHttpServer = partial({
  server_id: Type.String({ minLength: 1, maxLength: 64 }),
  name: Name,
  type: Type.Enum(HTTP_TYPES),
  url: entry.url,
  headers: entry.headers,
  enabled: entry.enabled,
  ...options,
})
export type AddHttpServer = Type.Static<typeof AddHttpServer>
component({ AgentHttpServerInput: AddHttpServer }, 'A registered HTTP server, or an entry', {
  minProperties: 1,
  examples: [{ server_id: 'docs' }],
})

const bridge = flag('Write a local command instead of a URL; always used for agents that accept no URL')
const takeOver = flag(
  'Park the entries in this file whose servers the gateway offers to the agent, so that it does not get their tools twice. `disconnect` restores them',
)
const keepNames = Type.Optional(
  boolean(
    'With `take_over`: the agent keeps an entry for each server, under its old name, which leads to `/mcp/{server_id}`. So its tools keep their names. If omitted: as it is connected now, else one entry for all',
  ),
)
const chosen = Type.Union(
  [
    Type.Literal('all'),
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 500, uniqueItems: true }),
  ],
  {
    description:
      'The servers that the agent sees at the gateway: their ids, or `all`, which includes servers that are added later. If omitted: with `take_over` exactly those of its entries, and those that it sees already; without it, nothing changes',
    examples: [['github']],
  },
)
const Connect = partial({ bridge, take_over: takeOver, keep_names: keepNames, servers: chosen, ...options })
component({ ConnectInput: Connect }, 'How to connect the agent')
export const ConnectInput = Type.Union([Connect, Type.Null()])
export type ConnectInput = Type.Static<typeof ConnectInput>
const Disconnect = partial(options)
export type ChangeOptions = Type.Static<typeof Disconnect>
component({ DisconnectInput: Disconnect }, 'From which file to remove the entry')
export const DisconnectInput = Type.Union([Disconnect, Type.Null()])

export const UndoInput = partial({
  backup_id: text('From the history; the newest change if omitted', { maxLength: 40 }),
  if_unchanged: flag(
    'Only if no other program has changed a file since that change. Always so without `backup_id`',
  ),
  ...undoOptions,
})
export type UndoInput = Type.Static<typeof UndoInput>
component({ UndoInput }, 'Which change to undo')

const Count = Type.Integer({ minimum: 0, examples: [3] })
const Usable = Type.Object({
  servers: Count,
  tools: integer('Of the servers whose tools are known', { minimum: 0, examples: [61] }),
  tokens: integer('Estimated: characters / 4', { minimum: 0, examples: [15_000] }),
})

export const ChangeReport = Type.Object({
  agent_type: Type.String(),
  scope: Type.String(),
  project_path: textOrNull('The project of the file; null for one of the user'),
  path: Type.String(),
  dry_run: Type.Boolean(),
  changed: Type.Boolean(),
  added: Type.Array(Type.String()),
  updated: Type.Array(Type.String()),
  removed: Type.Array(Type.String()),
  accepted: texts(
    'Entries of Toolroom that another program has changed or removed, and that stay as they are in the file',
  ),
  parked: texts(
    'Entries that the gateway replaces. They left the file, or lead to the gateway, and are kept by Toolroom',
  ),
  restored: texts('Parked entries that are back in the file'),
  doubled: objects('Tools that the agent gets twice: from its own entry and from the gateway', {
    name: text("The agent's own entry", { examples: ['github'] }),
    server_id: Type.String({ examples: ['github'] }),
    tools: texts('Empty if they are not known yet'),
  }),
  gateway: orNull(
    Type.Object(
      {
        servers: orNull(
          texts('The servers that it sees at the gateway. Null: all, also those that are added later'),
        ),
        keep_names: boolean('It has an entry for each server, under its old name, and not one for all'),
        starts_toolroom: boolean(
          'Its entry is a command that may start Toolroom when it is not running. With a URL, it has no tools then',
        ),
        before: Usable,
        after: Usable,
        gained: texts('Servers that it could not use before', { examples: [['slack']] }),
        replaced: objects('Entries that lead to the gateway afterwards, and where their tools are then', {
          name: Type.String({ examples: ['memory'] }),
          server_id: Type.String({ examples: ['memory-cursor'] }),
          shared_with: texts('The other agents that have this server', { examples: [['claude-code']] }),
          variants: objects('Servers of the same name with other values, which it does not get', {
            server_id: Type.String({ examples: ['memory'] }),
            agents: texts('The agents that have it', { examples: [['claude-code']] }),
            values: ComparedValues,
          }),
          tools: objects('Empty if they are not known yet', {
            before: Type.String({ examples: ['read_graph'] }),
            after: Type.String({ examples: ['memory-cursor__read_graph'] }),
          }),
        }),
        kept: texts('Entries that stay in the file'),
        credentials: Type.Object(
          {
            before: Type.Array(Type.String({ examples: ['github: env GITHUB_TOKEN'] })),
            after: Type.Array(Type.String({ examples: ['github: env GITHUB_TOKEN'] })),
          },
          { description: 'The secrets of the registered servers that it can use, without their values' },
        ),
        not_added: integer('Servers of the gateway that it does not see', { minimum: 0, examples: [8] }),
      },
      { description: 'Of `connect`: what the agent can use before and after the change' },
    ),
  ),
  diff: text('A unified diff with secrets masked'),
  backup_id: orNull(Type.String()),
  revision: orNull(Revision),
  base_revision: orNull({
    ...Revision,
    description: 'SHA-256 of the file from which this was computed. Null if there was none',
  }),
  reload_hint: orNull(Type.String()),
  warnings: Type.Array(Type.String()),
})
export type ChangeReport = Type.Static<typeof ChangeReport>
component({ AgentChangeReport: ChangeReport }, "What has changed in the agent's file")

export const DriftInput = closed({
  keep: Type.Enum(['toolroom', 'file'], {
    description:
      "`toolroom`: what Toolroom wrote is written again. `file`: the file stays as it is, and Toolroom's records follow it",
  }),
  files: Type.Optional(
    Type.Array(
      closed({
        path: Type.String({ maxLength: 4096, examples: ['/home/me/.cursor/mcp.json'] }),
        revision: orNull(Revision),
      }),
      {
        maxItems: 1000,
        description:
          'The files as you have seen them: `path` and `base_revision` of a dry run. If another one is concerned, or one has changed since, nothing is changed',
      },
    ),
  ),
  dry_run: options.dry_run,
})
export type DriftInput = Type.Static<typeof DriftInput>
component({ DriftInput }, 'Which version of changed entries to keep', {
  examples: [{ keep: 'toolroom', dry_run: true }],
})

export const DriftReport = Type.Object({
  keep: DriftInput.properties.keep,
  dry_run: Type.Boolean(),
  items: Type.Array(ChangeReport, {
    description: 'One for each file in which another program has changed entries of Toolroom',
  }),
  total: Type.Integer({ minimum: 0 }),
})
component({ DriftReport }, 'What was kept in each file')
export type DriftReport = Type.Static<typeof DriftReport>

const BackupView = Type.Object({
  id: Type.String({ examples: ['1794805200000-3f2a9c1d-7b1e'] }),
  ts: Timestamp,
  agent_type: Type.String({ examples: ['cursor'] }),
  scope: Type.String({ examples: ['user'] }),
  path: Type.String({ examples: ['/home/me/.cursor/mcp.json'] }),
  action: BackupAction,
  names: Type.Array(Type.String({ examples: ['github'] })),
  original: boolean("The content from before Toolroom's first change. It is never deleted"),
  bytes: orNull(integer('Null if there was no file', { minimum: 0, examples: [412] })),
})
component({ Backup: BackupView }, "The content of an agent's file from before a change")
export const BackupList = listOf(BackupView)
export type BackupItem = Type.Static<typeof BackupList>['items'][number]

const Restore = partial({
  agent_type: text('All agents if omitted', {
    pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
    expected: 'the type of an agent',
    examples: ['cursor'],
  }),
  scope: Scope,
  project_path: ProjectPath,
  dry_run: options.dry_run,
})
component({ RestoreInput: Restore }, 'Which files to restore', {
  examples: [{ agent_type: 'cursor', dry_run: true }],
})
export const RestoreInput = Type.Union([Restore, Type.Null()])
export type RestoreInput = NonNullable<Type.Static<typeof RestoreInput>>

const report = ChangeReport.properties

export const RestoreReport = Type.Object({
  dry_run: Type.Boolean(),
  items: objects('One for each file that has something of Toolroom', {
    agent_type: report.agent_type,
    scope: report.scope,
    path: report.path,
    changed: report.changed,
    exact: boolean("The file has every byte from before Toolroom's first change, or would have"),
    updated: report.updated,
    removed: report.removed,
    restored: report.restored,
    diff: report.diff,
    backup_id: report.backup_id,
    reload_hint: report.reload_hint,
    warnings: report.warnings,
    problem: textOrNull('Why this file was not changed'),
  }),
  total: Type.Integer({ minimum: 0 }),
})
component({ RestoreReport }, 'What changed in each file')
export type RestoreReport = Type.Static<typeof RestoreReport>
export type RestoredFile = RestoreReport['items'][number]
