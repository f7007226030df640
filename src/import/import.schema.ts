import * as Type from 'typebox'
import { ComparedValues, ProjectPath } from '../agents/read/agents.schema.ts'
import { component, orNull } from '../kernel/rest-parts.ts'
import {
  anyObject,
  boolean,
  closed,
  flag,
  integer,
  objects,
  partial,
  text,
  textOrNull,
  texts,
} from '../kernel/schema-fields.ts'
import { type Carrier, maskArgs, maskCommand, maskUrl } from '../kernel/secrets/mask-secrets.ts'
import { plainSecretsIn } from '../servers/shared/definition/move-secrets.ts'
import { npxPackage } from '../servers/shared/definition/npx-package.ts'
import { AllowOutgoing, Outgoing, outgoingIn } from '../servers/shared/definition/outgoing.ts'
import { ForAgents, problemSchema, ServerName } from '../servers/shared/server-fields.ts'
import { isolationInput } from '../servers/stdio/isolation-settings.ts'
import { placeholdersField, valuesField } from './snippet-values.ts'
import { containerField, shownContainer } from './translate/translate-docker-run.ts'

export const on_conflict = Type.Optional(
  Type.Enum(['skip', 'update'], { default: 'skip', description: 'What to do when the name is taken' }),
)
export const dry_run = flag('Report what would happen, without changes')

/** What became of a server. */
export const outcomeFields = {
  outcome: Type.Enum(['created', 'updated', 'unchanged', 'exists', 'refused']),
  id: textOrNull('The id of the created, updated or conflicting server'),
  reason: textOrNull('Why the entry was refused or skipped'),
}

/** The options of the imports of snippets and of agents' files. */
const importOptions = {
  start_mode: Type.Optional(
    Type.Enum(['manual', 'eager', 'on_demand'], {
      description: 'The start mode of new STDIO servers; the usual default if omitted',
    }),
  ),
  move_secrets: flag('Copy secrets in plain text to named secrets, and let the servers refer to them'),
  pin: flag(
    'Install the packages that `npx` would download, once, and run their files. Takes as long as the downloads',
  ),
  allow_outgoing: Type.Optional(AllowOutgoing),
  dry_run,
}
const Options = Type.Object(importOptions)
export type ImportOptions = Type.Static<typeof Options>

export const outgoingFound = Type.Array(Outgoing, {
  description:
    'The variables of Toolroom and the named secrets that it would get. It is off until `allow_outgoing` of this request, or of a later change, names each of them',
})

/** A definition in a report, with secrets masked. */
const shownFields = {
  command: orNull(Type.String({ examples: ['npx'] })),
  args: Type.Array(Type.String(), { examples: [['-y', '@modelcontextprotocol/server-github']] }),
  url: orNull(Type.String()),
}

const factFields = {
  ...shownFields,
  enabled: boolean(
    'false: it is disabled where it was found, or its agent has not been allowed to start it, and stays off: a STDIO server is stopped until you start it, an HTTP server is disabled',
  ),
  plain_secrets: texts('Where the definition has secrets as plain text. `move_secrets` copies them', {
    examples: [['env GITHUB_TOKEN']],
  }),
  outgoing: outgoingFound,
  can_pin: textOrNull('The package that `pin` would install, as `npx` names it', {
    examples: ['@playwright/mcp@latest'],
  }),
  container: containerField,
}
const Facts = Type.Object(factFields)
type Facts = Type.Static<typeof Facts>

const Entries = anyObject({ maxProperties: 500 })

/** A snippet as text, or a JSON snippet as the body itself. */
export const SnippetInput = partial({
  snippet: text('JSON, JSON with comments, TOML, or a command line', { minLength: 1, maxLength: 262_144 }),
  mcpServers: Entries,
  servers: Entries,
  inputs: Type.Array(Type.Unknown(), {
    maxItems: 100,
    description: 'Written by VS Code; their defaults are used',
  }),
  on_conflict,
  name: Type.Unsafe<string>({
    ...ServerName,
    description: 'The name of the server. Only for a snippet with one server',
  }),
  ...importOptions,
  ...isolationInput,
  agents: ForAgents,
  values: valuesField,
})
export type SnippetInput = Type.Static<typeof SnippetInput>
component({ SnippetInput }, 'A snippet with servers to import', {
  minProperties: 1,
  examples: [
    { mcpServers: { github: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-github'] } } },
  ],
})

export const SnippetReport = Type.Object({
  dry_run: Type.Boolean(),
  items: objects({
    name: Type.String({ examples: ['github'] }),
    type: orNull(Type.Enum(['stdio', 'http'])),
    ...outcomeFields,
    ...factFields,
    env: texts('The names of its environment variables', { examples: [['GITHUB_TOKEN']] }),
    headers: texts('The names of its headers'),
    cwd: orNull(Type.String({ examples: ['/home/me/notes'] })),
    program: orNull(
      Type.Object(
        {
          ok: boolean('The command was found on this computer'),
          detail: Type.String({ examples: ['The program is /usr/bin/npx'] }),
        },
        { description: 'Of a STDIO server' },
      ),
    ),
    placeholders: placeholdersField,
    notes: Type.Array(Type.String()),
  }),
  total: Type.Integer(),
})
export type SnippetReport = Type.Static<typeof SnippetReport>
component({ SnippetReport }, 'What became of each entry of the snippet')
export type SnippetItem = SnippetReport['items'][number]
const Source = Type.Object({
  agent_type: Type.String(),
  scope: Type.String(),
  project: textOrNull('The folder of the project that the entry belongs to'),
  name: Type.String(),
})
export type Source = Type.Static<typeof Source>

/** One entry, as `found_in` names it. */
const EntryInput = closed({
  agent_type: Type.String({ maxLength: 64 }),
  scope: Type.String({ maxLength: 40 }),
  project: orNull(Type.String({ maxLength: 4096 })),
  name: Type.String({ maxLength: 32_768 }),
})
component({ EntryInput }, "An entry of an agent's file", {
  examples: [{ agent_type: 'cursor', scope: 'user', project: null, name: 'github' }],
})

const digest = text('Changes with every value of the entry, and with a restart of Toolroom', {
  maxLength: 64,
})

export const EntryTrialInput = closed({
  ...EntryInput.properties,
  digest: Type.Optional({
    ...digest,
    description: 'Of a dry run: if the file says something else by now, nothing is started',
  }),
  allow_outgoing: Type.Optional(AllowOutgoing),
  unapproved: flag('Also if its agent has not been allowed to start it'),
})
export type EntryTrialInput = Type.Static<typeof EntryTrialInput>
component({ EntryTrialInput }, "An entry of an agent's file to try out", {
  examples: [{ agent_type: 'cursor', scope: 'user', project: null, name: 'github' }],
})

export const EntryTrial = Type.Object({
  ok: boolean('It started or answered, completed the handshake and listed its tools'),
  duration_ms: Type.Integer({ minimum: 0 }),
  tool_count: orNull(Type.Integer({ minimum: 0 })),
  error: problemSchema('command_not_found'),
  stderr_tail: texts('The last lines on stderr'),
})
export type EntryTrial = Type.Static<typeof EntryTrial>
component({ EntryTrial }, 'Whether the server of the entry starts, or why it does not')

const SeenEntry = closed({
  ...EntryInput.properties,
  digest: Type.Optional({
    ...digest,
    description: 'Of a dry run: if the file says something else by now, the entry is refused',
  }),
})
component({ SeenEntry }, "An entry of an agent's file, as a dry run has shown it", {
  examples: [{ agent_type: 'cursor', scope: 'user', project: null, name: 'github' }],
})

export const AgentImportInput = partial({
  agents: Type.Array(Type.String({ maxLength: 64 }), {
    minItems: 1,
    maxItems: 64,
    description: 'All agents if omitted',
  }),
  names: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    minItems: 1,
    maxItems: 500,
    description: 'Names of entries; all if omitted',
  }),
  entries: Type.Array(SeenEntry, {
    minItems: 1,
    maxItems: 2000,
    description:
      'Only the servers of these entries, as `found_in` of a dry run names them. They get the names that the dry run has shown',
  }),
  project_path: ProjectPath,
  update: flag(
    'A server that is registered with other settings gets those of the entry. Without it, the entry becomes a server of its own',
  ),
  server_id: text(
    'With `update`: the server that gets the settings. If omitted, the one with the same command or name',
    { maxLength: 64 },
  ),
  ...importOptions,
})
export type AgentImportInput = Type.Static<typeof AgentImportInput>
component({ AgentImportInput }, 'Which entries to register', { examples: [{ dry_run: true }] })

const Transport = orNull(Type.Enum(['stdio', 'http', 'sse']))

/** An entry of the same name with another definition. */
const Variant = Type.Object({
  ...Source.properties,
  type: Transport,
  ...shownFields,
  differs: texts('Where it differs from the item', { examples: [['env GITHUB_TOKEN']] }),
  values: ComparedValues,
})

export const AgentImportReport = Type.Object({
  dry_run: Type.Boolean(),
  items: objects({
    name: Type.String(),
    type: Transport,
    outcome: Type.Enum(['created', 'updated', 'registered', 'exists', 'refused'], {
      description:
        '`updated`: only with `update`; `registered`: a server with the same values is registered already; `exists`: the server of this name cannot be read, so it stays as it is',
    }),
    server_id: orNull(Type.String()),
    found_in: Type.Array(Source),
    variants: Type.Array(Variant, {
      description:
        'Other definitions of the same name. Each is an item of its own: its agent uses other values',
    }),
    reason: orNull(Type.String()),
    approved: boolean(
      'false: it is only in a file of a repository, and its agent has not been allowed to start it. It is not part of a default choice, and is imported off',
    ),
    digest: Type.String({ ...digest, description: 'For a trial of what was seen' }),
    ...factFields,
    notes: Type.Array(Type.String()),
  }),
  problems: objects('Files that could not be read, so that their entries are missing', {
    agent_type: Type.String({ examples: ['cursor'] }),
    path: Type.String({ examples: ['/home/me/.cursor/mcp.json'] }),
    message: Type.String(),
  }),
  total: Type.Integer({ minimum: 0 }),
})
export type AgentImportReport = Type.Static<typeof AgentImportReport>
component({ AgentImportReport }, 'What became of each entry')
export type AgentImportItem = AgentImportReport['items'][number]

export const AgentScan = Type.Object({
  agents: objects({
    agent_type: Type.String(),
    name: Type.String(),
    installed: Type.Boolean(),
    entries: integer('In all its files, also those of projects', { minimum: 0 }),
    projects: objects('Those of projects', { project: Type.String(), entries: Type.Integer() }),
    problems: Type.Array(Type.String()),
  }),
  agents_found: integer('Agents with at least one entry', { minimum: 0 }),
  entries: Type.Integer({ minimum: 0 }),
  different_servers: Type.Integer({ minimum: 0 }),
  not_registered: integer('Distinct servers that are not registered yet', { minimum: 0 }),
})
export type AgentScan = Type.Static<typeof AgentScan>
component({ AgentScan }, 'How many agents, entries and servers were found')

export function shownDefinition({
  command,
  args = [],
  url,
}: Carrier): Type.Static<ReturnType<typeof Type.Object<typeof shownFields>>> {
  return {
    command: command === undefined ? null : maskCommand(command),
    args: maskArgs(args),
    url: url === undefined ? null : maskUrl(url),
  }
}

export const factsOf = (
  definition: Carrier,
  enabled: boolean,
  outgoing: readonly Outgoing[] = outgoingIn(definition),
): Facts => ({
  ...shownDefinition(definition),
  enabled,
  plain_secrets: plainSecretsIn(definition),
  outgoing: [...outgoing],
  can_pin: npxPackage(definition)?.spec ?? null,
  container: shownContainer(definition),
})

/** For an entry that could not be read. */
export const NO_FACTS: Facts = {
  command: null,
  args: [],
  url: null,
  enabled: true,
  plain_secrets: [],
  outgoing: [],
  can_pin: null,
  container: null,
}
