import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MASK } from '../../kernel/secrets/secrets.ts'
import { component, mapOf, orNull } from '../../kernel/wire.ts'
import {
  masked,
  offerInput,
  offerView,
  recordFields,
  ServerId,
  ServerName,
  Tags,
} from '../shared/server-fields.ts'
import type { ServerRecord } from '../shared/server-registry.ts'
import { Live } from './live.schema.ts'
import { type RunSettings, settingsInput, settingsView } from './run-settings.ts'

/** TOOLROOM_* is reserved, so that a server cannot pass for Toolroom. */
const ENV_KEY = '^(?![Tt][Oo][Oo][Ll][Rr][Oo][Oo][Mm]_)[^=\\u0000-\\u001f\\u007f]{1,256}$'
const ABSOLUTE_PATH = '^(?:/|~/|[A-Za-z]:[\\\\/]|\\\\\\\\)[^\\u0000-\\u001f]*$'
const example = { args: ['-y', '@modelcontextprotocol/server-github'], env: { GITHUB_TOKEN: 'ghp_…' } }

const Command = Type.String({
  minLength: 1,
  maxLength: 4096,
  pattern: '^[^\\u0000-\\u001f]+$',
  expected: 'one line',
  description: 'The program only; its arguments belong in args',
  examples: ['npx'],
})
/** With a package, the command is one of its programs, and may be omitted if there is only one. */
const Package = Type.String({
  minLength: 1,
  maxLength: 214,
  description: 'The name of an installed package to run',
  examples: ['@modelcontextprotocol/server-memory'],
})
const Args = Type.Array(Type.String({ maxLength: 32_768 }), { maxItems: 256, examples: [example.args] })
const Cwd = orNull(
  Type.String({
    maxLength: 4096,
    pattern: ABSOLUTE_PATH,
    expected: 'an absolute path',
    examples: ['/home/me/notes'],
  }),
)
const Description = orNull(Type.String({ maxLength: 2000 }))

const optional = {
  args: Type.Optional(Args),
  env: Type.Optional(mapOf(ENV_KEY, Type.String({ maxLength: 32_768 }), 256)),
  cwd: Type.Optional(Cwd),
  description: Type.Optional(Description),
  tags: Type.Optional(Tags),
  ...settingsInput,
  ...offerInput,
}

export const ServerInput = Type.Object(
  {
    name: ServerName,
    type: Type.Optional(Type.Literal('stdio')),
    command: Type.Optional(Command),
    package: Type.Optional(Package),
    ...optional,
  },
  { additionalProperties: false, examples: [{ name: 'GitHub', command: 'npx', ...example }] },
)
export type ServerInput = Static<typeof ServerInput>
component({ ServerInput }, 'A STDIO server to add')

export const ServerPatch = Type.Object(
  { name: Type.Optional(ServerName), command: Type.Optional(Command), ...optional },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ env: { GITHUB_TOKEN: MASK, LOG_LEVEL: 'debug' } }],
  },
)
export type ServerPatch = Static<typeof ServerPatch>
component({ ServerPatch }, 'The fields of a STDIO server to change')

/** A server as the API shows it. The values of env are secrets, so the type allows only '***'. */
export const ServerView = Type.Object({
  id: ServerId,
  type: Type.Literal('stdio'),
  name: ServerName,
  command: Command,
  package: orNull(Package),
  args: Args,
  env: masked({ GITHUB_TOKEN: MASK }),
  cwd: Cwd,
  description: Description,
  tags: Tags,
  ...settingsView,
  ...offerView,
  ...Live.properties,
  ...recordFields,
})
export type ServerView = Static<typeof ServerView>
component({ Server: ServerView }, 'A STDIO server and its state')

/** A STDIO server as it is stored. */
export interface Server extends ServerRecord, RunSettings {
  readonly command: string
  /** The package that it runs from. The command is one of its programs then. */
  readonly package: string | null
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly description: string | null
  readonly tags: readonly string[]
}
