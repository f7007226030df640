import * as Type from 'typebox'
import { AsyncQuery, component, listOf, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import {
  anyObject,
  boolean,
  closed,
  flag,
  objects,
  partial,
  text,
  textOrNull,
  texts,
} from '../../kernel/schema-fields.ts'
import { ForAgents } from '../shared/server-fields.ts'

const Name = text('The npm package name; paths, URLs, git addresses and options are refused', {
  minLength: 1,
  maxLength: 1000,
  examples: ['@modelcontextprotocol/server-everything'],
})
const Version = text('An exact version or a tag', { minLength: 1, maxLength: 1000, examples: ['latest'] })

export const InstallInput = closed({
  name: Name,
  version: Type.Optional(Version),
  allow_scripts: flag('Let the package and its dependencies run install scripts'),
  create_server: flag('Create a server from the package and start it'),
  bin: Type.Optional(text('The program to run, for a package with several', { maxLength: 128 })),
  args: Type.Optional(Type.Array(Type.String({ maxLength: 32_768 }), { maxItems: 256 })),
  env: Type.Optional(Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 32_768 }))),
  agents: Type.Optional(ForAgents),
})
export type InstallInput = Type.Static<typeof InstallInput>
component({ InstallInput }, 'A package to install', {
  examples: [{ name: '@modelcontextprotocol/server-everything' }],
})

export const UpdateQuery = partial({
  ...AsyncQuery.properties,
  hold: boolean(
    'Respond at once with the id of a job, which waits for `POST /api/jobs/{id}/continue` before it replaces the old version. After 10 minutes it is cancelled',
  ),
})
export const RemoveQuery = partial({ force: boolean('Uninstall even if servers use the package') })
export const UpdateInput = partial({ version: Version })
component({ UpdateInput }, 'The version to update to')

const EnvHint = Type.Object({
  name: Type.String({ examples: ['GITHUB_TOKEN'] }),
  description: orNull(Type.String()),
  required: orNull(Type.Boolean()),
  from: Type.Enum(['server.json', 'readme']),
})

export const PackageView = Type.Object({
  id: Type.String({ examples: ['modelcontextprotocol-server-everything-1a2b3c'] }),
  name: Name,
  version: Type.String({ examples: ['2026.8.31'] }),
  requested: Type.String({ examples: ['latest'] }),
  latest: textOrNull('The latest version at the last install, update or refresh'),
  previous_version: textOrNull('Kept for a rollback'),
  status: Type.Enum(['installed', 'broken'], { description: '`broken`: its files are missing' }),
  bin: Type.Record(Type.String(), Type.String()),
  path: Type.String(),
  size_bytes: Type.Integer({ minimum: 0 }),
  integrity: orNull(Type.String()),
  license: orNull(Type.String()),
  deprecated: orNull(Type.String()),
  engines: orNull(Type.String()),
  has_install_scripts: Type.Boolean(),
  scripts_skipped: texts('Packages whose install scripts did not run'),
  update_available: Type.Boolean(),
  asks_for_env: Type.Array(EnvHint),
  used_by: texts('Ids of the servers that run from it'),
  npx_servers: texts(
    'Ids of the servers that download it with npx at each start. With `package`, `PATCH /api/servers/{id}` makes them run the installed one',
  ),
  installed_at: Timestamp,
})
export type PackageView = Type.Static<typeof PackageView>
component({ Package: PackageView }, 'An installed package')
export const PackageList = listOf(PackageView)

export const RefreshedPackage = Type.Object({
  id: Type.String({ examples: ['modelcontextprotocol-server-everything-1a2b3c'] }),
  name: Name,
  version: Type.String({ examples: ['2026.8.31'] }),
  latest: orNull(Type.String({ examples: ['2026.11.2'] })),
  update_available: Type.Boolean(),
  deprecated: textOrNull('Why the installed version should not be used any more'),
  error: textOrNull('Why the registry gave no answer; the other fields are as before'),
})
export type RefreshedPackage = Type.Static<typeof RefreshedPackage>
component({ RefreshedPackage }, 'What the registry has for a package')
export const RefreshedList = listOf(RefreshedPackage)

const CreatedServer = Type.Object({
  id: Type.String(),
  status: Type.String(),
  error: textOrNull('Why it did not start'),
})
export const Installed = Type.Object({
  ...PackageView.properties,
  warnings: Type.Array(Type.String()),
  server: Type.Union([CreatedServer, Type.Null()]),
})
export type Installed = Type.Static<typeof Installed>
component({ InstalledPackage: Installed }, 'The installed package, and the server that was created from it')

const Names = Type.Array(Type.String())
export const Updated = Type.Object({
  ...PackageView.properties,
  warnings: Type.Array(Type.String()),
  from_version: Type.String(),
  tools: Type.Object(
    { added: Names, removed: Names, changed: Names },
    { description: 'Tools compared with the version before' },
  ),
  tried_with: texts('The servers whose settings were used for the trial'),
})
export type Updated = Type.Static<typeof Updated>
component({ UpdatedPackage: Updated }, 'The updated package, and how its tools have changed')

const Trust = Type.Object({
  fact: Type.String({ examples: ['install_scripts'] }),
  state: Type.Enum(['good', 'look', 'unknown']),
  detail: Type.String(),
})
/** A value that only the user knows. */
const ToFill = anyObject()
const CreateBody = anyObject()
export const SearchInput = closed({
  query: Type.String({ minLength: 1, maxLength: 200, examples: ['github'] }),
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 20 })),
  from: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 0 })),
  mcp_only: Type.Optional(Type.Boolean({ default: false })),
  source: Type.Optional(Type.Enum(['npm', 'mcp_registry'], { default: 'npm' })),
  cursor: Type.Optional(text('The next page of results from the MCP Registry', { maxLength: 500 })),
})
export type SearchInput = Type.Static<typeof SearchInput>
component({ SearchInput }, 'What to search for')

export const SearchAnswer = Type.Object({
  items: objects({
    name: Type.String(),
    version: orNull(Type.String()),
    description: orNull(Type.String()),
    keywords: Type.Array(Type.String()),
    publisher: orNull(Type.String()),
    date: orNull(Timestamp),
    license: orNull(Type.String()),
    downloads_weekly: orNull(Type.Integer({ minimum: 0 })),
    installed: textOrNull('The installed version'),
    trust: Type.Array(Trust),
    source: Type.Enum(['npm', 'mcp_registry']),
    create: Type.Optional(Type.Union([CreateBody, Type.Null()])),
    note: Type.Optional(orNull(Type.String())),
    title: Type.Optional(orNull(Type.String())),
    required_env: Type.Optional(Type.Array(ToFill)),
    required_headers: Type.Optional(Type.Array(ToFill)),
    required_args: Type.Optional(Type.Array(ToFill)),
  }),
  total: orNull(Type.Integer({ minimum: 0 })),
  next_from: orNull(Type.Integer()),
  next_cursor: orNull(Type.String()),
  search_available: boolean('False when the registry finds only exact names'),
})
export type SearchAnswer = Type.Static<typeof SearchAnswer>
component({ SearchResults: SearchAnswer }, 'The packages or servers that were found')
