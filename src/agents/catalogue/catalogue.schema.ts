import type { Static } from 'typebox'
import * as Type from 'typebox'
import { mapOf, orNull } from '../../kernel/wire.ts'
import type { Json } from '../formats/format.ts'

export const FORMATS = ['json', 'jsonc', 'toml', 'yaml'] as const
export const SYSTEMS = ['linux', 'darwin', 'win32'] as const

const Text = Type.String({ minLength: 1, maxLength: 500 })
const Word = Type.String({ minLength: 1, maxLength: 120 })
const Words = Type.Array(Word, { maxItems: 32 })
/** Literal names, from the top of the file. `<project>` stands for the absolute path of the project. */
const KeyPath = Type.Array(Word, { maxItems: 8 })
const Format = Type.Enum(FORMATS)
const Container = Type.Enum(['map', 'list'])
const closed = { additionalProperties: false }

/** What a file may hold and is still read by its agent. What nobody knows is false: then nothing is risked. */
const Dialect = Type.Object(
  { comments: Type.Boolean(), trailingCommas: Type.Boolean(), bom: Type.Boolean() },
  closed,
)

/**
 * Where a file may be: candidates, best first. `~`, `$XDG_CONFIG_HOME`, `%APPDATA%` and the like are filled in, `*`
 * stands for part of one name, and a path that begins with none of them and is not absolute is inside the project.
 */
const Paths = Type.Object({ linux: Words, darwin: Words, win32: Words }, closed)
/** The same under a folder or file that a variable names, such as `$CODEX_HOME/config.toml`; one that is set wins. */
const Overrides = Words

const Scope = Type.Object(
  {
    scope: Word,
    paths: Paths,
    overrides: Overrides,
    /** Each of these only where it differs from the agent's own. */
    format: orNull(Format),
    keyPath: Type.Union([KeyPath, Type.Null()]),
    container: orNull(Container),
    readOnly: Type.Boolean(),
    note: orNull(Text),
  },
  closed,
)

/**
 * An entry with holes: `<name>`, `<command>`, `<args>`, `<command+args>`, `<env>`, `<cwd>`, `<url>`, `<headers>`.
 * Fields are written in this order; one whose hole stays empty is left out, unless it is required or always written.
 */
const Template = mapOf('^[\\s\\S]{1,120}$', Type.Unsafe<Json>({}), 32)
const Transport = Type.Object(
  {
    entry: Template,
    /** Without these fields the agent ignores the entry. */
    required: Words,
    /** Some versions need these too, so they are written even when they are empty. */
    always: Words,
    /** What the type field may say for this transport, the written word first; nothing where the agent has none. */
    types: Words,
    /** The entry is taken for this transport without a type field too. */
    untyped: Type.Boolean(),
    /** Other names under which the agent takes the same: `{ url: ['serverUrl'] }`. */
    aliases: mapOf('^(url|env|headers)$', Words, 3),
  },
  closed,
)

const Flag = { field: Word, value: Type.Boolean({ description: 'What it says when the server is off' }) }
const Disabled = Type.Union([
  Type.Object(
    {
      kind: Type.Literal('entry-flag'),
      ...Flag,
      /** Where entries under another key path have another flag. */
      elsewhere: Type.Array(Type.Object({ keyPath: KeyPath, ...Flag }, closed), { maxItems: 4 }),
    },
    closed,
  ),
  Type.Object(
    {
      kind: Type.Enum(['external-list', 'external-map']),
      paths: Paths,
      overrides: Overrides,
      format: Format,
      dialect: Dialect,
      /** Of the list or the map. */
      keyPath: KeyPath,
      /** Of entries from these scopes. */
      ofScopes: mapOf('^[a-z-]{1,40}$', KeyPath, 8),
      /** For a map: what stands behind the name. */
      value: Type.Unsafe<Json>({}),
      nameRule: Type.Enum(['as-is', 'lower-case']),
    },
    closed,
  ),
  Type.Object({ kind: Type.Literal('list-in-file'), keyPath: KeyPath }, closed),
  Type.Object({ kind: Type.Enum(['ui-state', 'unknown', 'none']), reason: Text }, closed),
])

export const Agent = Type.Object(
  {
    type: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$' }),
    name: Word,
    homepage: orNull(Type.String({ pattern: '^https://', maxLength: 200 })),
    status: Type.Enum(['active', 'legacy', 'discontinued']),
    aliases: Words,
    confidence: Type.Enum(['high', 'medium-high', 'medium']),
    format: Format,
    dialect: Dialect,
    scopes: Type.Array(Scope, { minItems: 1, maxItems: 8 }),
    /** Scopes, strongest first: which entry counts when two have the same name. */
    precedence: Words,
    keyPath: KeyPath,
    /** Other places in the same file where the agent looks for entries; an empty path is the whole file. */
    keyPathAlternatives: Type.Array(KeyPath, { maxItems: 4 }),
    container: Container,
    /** In a list: the field that holds the name. */
    nameField: orNull(Word),
    nameRule: Type.Enum(['as-is', 'lower-case-without-spaces']),
    /** Names that mean something else there. */
    reservedNames: Words,
    /** The field that names the transport; null where the agent has none. */
    typeField: orNull(Word),
    stdio: Transport,
    http: Type.Union([Transport, Type.Null()]),
    sse: Type.Union([Transport, Type.Null()]),
    /** What to do about a transport it does not take. */
    advice: orNull(Text),
    /** A field that may hold the whole definition, with a type of its own for each transport. */
    nested: Type.Union([
      Type.Object({ field: Word, stdio: Word, http: Word, sse: Word }, closed),
      Type.Null(),
    ]),
    /** Entries that are no tool servers: by what a field says, or (null) by a field without command and URL. */
    foreign: Type.Array(Type.Object({ field: Word, values: Type.Union([Words, Type.Null()]) }, closed), {
      maxItems: 8,
    }),
    /** Fields that look right and are wrong, and the sentence that says so. */
    mistakes: mapOf('^\\w{1,40}$', Text, 8),
    /** On Windows it starts commands without a shell, so that npx and its like need `cmd /c`. */
    needsCmd: Type.Boolean(),
    disabled: Disabled,
    interpolation: Type.Union([
      Type.Object({ syntax: Words, fields: Words, note: orNull(Text) }, closed),
      Type.Null(),
    ]),
    /** How it learns of a change. */
    reload: orNull(Text),
    detect: Type.Object({ folders: Words, files: Words, binaries: Words, apps: Words }, closed),
    /** How it keeps others from its file; `<config>` is the file and `<folder>` the folder it is in. */
    lock: Type.Union([
      Type.Object(
        {
          /** A populated one is moved into place with its owner's file in it. */
          kind: Type.Enum(['directory', 'populated-directory', 'file']),
          path: Word,
          scopes: Words,
          staleMs: orNull(Type.Integer({ minimum: 1 })),
          note: orNull(Text),
        },
        closed,
      ),
      Type.Null(),
    ]),
    notes: Type.Array(Text, { maxItems: 12 }),
  },
  closed,
)
export type Agent = Static<typeof Agent>
export type Scope = Static<typeof Scope>
export type Transport = Static<typeof Transport>
export type Dialect = Static<typeof Dialect>
export type FileFormat = (typeof FORMATS)[number]
export type System = (typeof SYSTEMS)[number]
export type TransportName = 'stdio' | 'http' | 'sse'
