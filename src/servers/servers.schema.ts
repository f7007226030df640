import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MASK } from '../kernel/secrets/secrets.ts'
import { listOf, mapOf, orNull } from '../kernel/wire.ts'
import {
  masked,
  offerInput,
  offerView,
  recordFields,
  ServerId,
  ServerName,
  Tags,
} from '../upstreams/server-fields.ts'
import type { ServerRecord } from '../upstreams/server-registry.ts'
import { Live } from './live.schema.ts'
import { type RunSettings, settingsInput, settingsView } from './run-settings.ts'

/** Never TOOLROOM_*: those names are ours, and a server must not be able to pass for Toolroom. */
const ENV_KEY = '^(?![Tt][Oo][Oo][Ll][Rr][Oo][Oo][Mm]_)[^=\\u0000-\\u001f\\u007f]{1,256}$'
const ABSOLUTE_PATH = '^(?:/|~/|[A-Za-z]:[\\\\/]|\\\\\\\\)[^\\u0000-\\u001f]*$'
const example = { args: ['-y', '@modelcontextprotocol/server-github'], env: { GITHUB_TOKEN: 'ghp_…' } }

const Args = Type.Array(Type.String({ maxLength: 32_768 }), { maxItems: 256, examples: [example.args] })
const Env = mapOf(ENV_KEY, Type.String({ maxLength: 32_768 }), 256)
const Description = orNull(Type.String({ maxLength: 2000 }))

const input = {
  name: ServerName,
  command: Type.String({
    minLength: 1,
    maxLength: 4096,
    pattern: '^[^\\u0000-\\u001f]+$',
    expected: 'one line',
    description: 'The program alone; its arguments go into args',
    examples: ['npx'],
  }),
  args: Args,
  env: Env,
  cwd: orNull(
    Type.String({
      maxLength: 4096,
      pattern: ABSOLUTE_PATH,
      expected: 'an absolute path',
      examples: ['/home/me/notes'],
    }),
  ),
  description: Description,
  tags: Tags,
}

/** Then the command is one of its programs, and may be left out where there is only one to mean. */
const Package = Type.String({
  minLength: 1,
  maxLength: 214,
  description: 'The name of an installed package to run',
  examples: ['@modelcontextprotocol/server-memory'],
})

/** What a caller sends. The same object is the type, the validator and the OpenAPI page. */
export const ServerInput = Type.Object(
  {
    name: input.name,
    type: Type.Optional(Type.Literal('stdio')),
    command: Type.Optional(input.command),
    package: Type.Optional(Package),
    args: Type.Optional(input.args),
    env: Type.Optional(input.env),
    cwd: Type.Optional(input.cwd),
    description: Type.Optional(input.description),
    tags: Type.Optional(input.tags),
    ...settingsInput,
    ...offerInput,
  },
  { additionalProperties: false, examples: [{ name: 'GitHub', command: 'npx', ...example }] },
)
export type ServerInput = Static<typeof ServerInput>

export const ServerPatch = Type.Object(
  {
    name: Type.Optional(input.name),
    command: Type.Optional(input.command),
    args: Type.Optional(input.args),
    env: Type.Optional(input.env),
    cwd: Type.Optional(input.cwd),
    description: Type.Optional(input.description),
    tags: Type.Optional(input.tags),
    ...settingsInput,
    ...offerInput,
  },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ env: { GITHUB_TOKEN: MASK, LOG_LEVEL: 'debug' } }],
  },
)
export type ServerPatch = Static<typeof ServerPatch>

/** What a caller sees. Values of env are secrets: they leave the service as '***', and the type says so. */
export const ServerView = Type.Object({
  id: ServerId,
  type: Type.Literal('stdio'),
  name: input.name,
  command: input.command,
  package: orNull(Package),
  args: Args,
  env: masked({ GITHUB_TOKEN: MASK }),
  cwd: input.cwd,
  description: Description,
  tags: Tags,
  ...settingsView,
  ...offerView,
  ...Live.properties,
  ...recordFields,
})
export type ServerView = Static<typeof ServerView>
export const ServerList = listOf(ServerView)

/** A STDIO server as it is stored. */
export interface Server extends ServerRecord, RunSettings {
  readonly command: string
  /** The package that it runs from; the command is one of its programs then. */
  readonly package: string | null
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly description: string | null
  readonly tags: readonly string[]
}
