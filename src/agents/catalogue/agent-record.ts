import * as Type from 'typebox'
import { mapOf, orNull } from '../../kernel/rest-parts.ts'
import { boolean, closed } from '../../kernel/schema-fields.ts'
import type { Json } from './json-value.ts'

export const FORMATS = ['json', 'jsonc', 'toml', 'yaml'] as const
export const SYSTEMS = ['linux', 'darwin', 'win32'] as const

const Text = Type.String({ minLength: 1, maxLength: 500 })
const Word = Type.String({ minLength: 1, maxLength: 120 })
const Words = Type.Array(Word, { maxItems: 32 })
/** Names from the top of the file. `<project>` is replaced by the absolute path of the project. */
const KeyPath = Type.Array(Word, { maxItems: 8 })
const Format = Type.Enum(FORMATS)
const Container = Type.Enum(['map', 'list'])

/** What the agent can read. False where that is not known, so that nothing is risked. */
const Dialect = closed({ comments: Type.Boolean(), trailingCommas: Type.Boolean(), bom: Type.Boolean() })

/**
 * Candidates for the path of a file, best first. `~`, `$XDG_CONFIG_HOME`, `%APPDATA%` and the like are expanded, and
 * `*` matches part of one name. Any other relative path is inside the project.
 */
const Paths = closed({ linux: Words, darwin: Words, win32: Words })
/** Paths that begin with a variable, such as `$CODEX_HOME/config.toml`. They are used if the variable is set. */
const Overrides = Words

const Scope = closed({
  scope: Word,
  paths: Paths,
  overrides: Overrides,
  /** This and the next two only if they differ from the agent's own. */
  format: orNull(Format),
  keyPath: Type.Union([KeyPath, Type.Null()]),
  container: orNull(Container),
  readOnly: Type.Boolean(),
  note: orNull(Text),
  /** Earlier versions read this file. It is the one of that scope for as long as it is the only one that exists. */
  standsInFor: Type.Optional(Word),
})

/**
 * An entry with placeholders: `<name>`, `<command>`, `<args>`, `<command+args>`, `<env>`, `<cwd>`, `<url>`,
 * `<headers>`. Fields are written in this order. A field whose placeholder is empty is left out, unless it is in
 * `required` or `always`.
 */
const Template = mapOf('^[\\s\\S]{1,120}$', Type.Unsafe<Json>({}), 32)
const Transport = closed({
  entry: Template,
  /** The agent ignores an entry without these fields. */
  required: Words,
  /** Written even if empty, because some versions need them. */
  always: Words,
  /** The values of the type field for this transport, the one to write first; empty if the agent has no type field. */
  types: Words,
  /** The agent uses this transport for entries without a type field too. */
  untyped: Type.Boolean(),
  /** Other names of the same field: `{ url: ['serverUrl'] }`. */
  aliases: mapOf('^(url|env|headers)$', Words, 3),
})

const Flag = { field: Word, value: boolean('The value of a disabled server') }
const Disabled = Type.Union([
  closed({
    kind: Type.Literal('entry-flag'),
    ...Flag,
    /** For entries under another key path with another flag. */
    elsewhere: Type.Array(closed({ keyPath: KeyPath, ...Flag }), { maxItems: 4 }),
  }),
  closed({
    kind: Type.Enum(['external-list', 'external-map']),
    paths: Paths,
    overrides: Overrides,
    format: Format,
    dialect: Dialect,
    /** The key path of the list or the map. */
    keyPath: KeyPath,
    /** Other key paths for entries of these scopes. */
    ofScopes: mapOf('^[a-z-]{1,40}$', KeyPath, 8),
    /** For a map: the value of a disabled server. */
    value: Type.Unsafe<Json>({}),
    nameRule: Type.Enum(['as-is', 'lower-case']),
  }),
  closed({ kind: Type.Literal('list-in-file'), keyPath: KeyPath }),
  closed({ kind: Type.Enum(['ui-state', 'unknown', 'none']), reason: Text }),
])

export const Agent = closed({
  type: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$' }),
  name: Word,
  homepage: orNull(Type.String({ pattern: '^https://', maxLength: 200 })),
  status: Type.Enum(['active', 'legacy', 'discontinued']),
  aliases: Words,
  confidence: Type.Enum(['high', 'medium-high', 'medium']),
  format: Format,
  dialect: Dialect,
  scopes: Type.Array(Scope, { minItems: 1, maxItems: 8 }),
  /** Scopes, strongest first. They decide between entries with the same name. */
  precedence: Words,
  keyPath: KeyPath,
  /** Other key paths of entries in the same file. An empty path is the top of the file. */
  keyPathAlternatives: Type.Array(KeyPath, { maxItems: 4 }),
  container: Container,
  /** In a list: the field with the name. */
  nameField: orNull(Word),
  nameRule: Type.Enum(['as-is', 'lower-case-without-spaces']),
  /** Names with a special meaning for the agent. */
  reservedNames: Words,
  /** The field with the transport; null if the agent has none. */
  typeField: orNull(Word),
  stdio: Transport,
  http: Type.Union([Transport, Type.Null()]),
  sse: Type.Union([Transport, Type.Null()]),
  /** What to do for a transport that the agent does not support. */
  advice: orNull(Text),
  /** A field that may contain the whole definition, with its own type for each transport. */
  nested: Type.Union([closed({ field: Word, stdio: Word, http: Word, sse: Word }), Type.Null()]),
  /** Entries that are not tool servers: a field has one of these values, or (null) exists without a command or URL. */
  foreign: Type.Array(closed({ field: Word, values: Type.Union([Words, Type.Null()]) }), { maxItems: 8 }),
  /** Common wrong field names, each with its error message. */
  mistakes: mapOf('^\\w{1,40}$', Text, 8),
  /** On Windows the agent starts commands without a shell, so npx and similar need `cmd /c`. */
  needsCmd: Type.Boolean(),
  disabled: Disabled,
  interpolation: Type.Union([closed({ syntax: Words, fields: Words, note: orNull(Text) }), Type.Null()]),
  /** What makes the agent read a changed file. */
  reload: orNull(Text),
  detect: closed({ folders: Words, files: Words, binaries: Words, apps: Words }),
  /** The agent's lock of its file. `<config>` is the file and `<folder>` its folder. */
  lock: Type.Union([
    closed({
      /** A populated directory is moved into place with its owner's file inside. */
      kind: Type.Enum(['directory', 'populated-directory', 'file']),
      path: Word,
      scopes: Words,
      staleMs: orNull(Type.Integer({ minimum: 1 })),
      note: orNull(Text),
    }),
    Type.Null(),
  ]),
  notes: Type.Array(Text, { maxItems: 12 }),
})
export type Agent = Type.Static<typeof Agent>
export type Scope = Type.Static<typeof Scope>
export type Transport = Type.Static<typeof Transport>
export type Dialect = Type.Static<typeof Dialect>
export type FileFormat = (typeof FORMATS)[number]
export type System = (typeof SYSTEMS)[number]
export type TransportName = 'stdio' | 'http' | 'sse'
