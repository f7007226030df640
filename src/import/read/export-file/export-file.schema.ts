import * as Type from 'typebox'
import { component, ID_PATTERN, orNull, Timestamp } from '../../../kernel/rest-parts.ts'
import { anyObject, closed, flag, partial, text } from '../../../kernel/schema-fields.ts'
import { NAME_PATTERN } from '../../../kernel/secrets/references.ts'
import { MAX_SERVERS, ServerId } from '../../../servers/shared/server-fields.ts'

export const FORMAT = 'toolroom-export'
/** The length of one part of the encrypted text. */
export const PART_LENGTH = 65_536

export const Passphrase = text('Encrypts the secrets in the file', {
  maxLength: 256,
  pattern: '^[\\x20-\\x7e]{12,256}$',
  expected: '12 to 256 characters of ASCII',
})

export const ExportQuery = partial({
  include_secrets: flag('Include secrets, encrypted with the passphrase'),
})
/** In a header, because URLs end up in logs. */
export const PASSPHRASE_HEADER = 'x-export-passphrase'
export const ExportHeaders = Type.Object({ [PASSPHRASE_HEADER]: Type.Optional(Passphrase) })

/** The fields of a server as `POST` accepts them. Each kind validates its own. */
const Definition = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  maxProperties: 64,
  examples: [{ name: 'GitHub', command: 'npx' }],
})
const Entry = closed({ id: ServerId, type: Type.Enum(['stdio', 'http']), definition: Definition })
export type Entry = Type.Static<typeof Entry>

const AgentChoice = closed({
  agent_type: Type.String({ minLength: 1, maxLength: 64, examples: ['cursor'] }),
  linked_servers: Type.Array(ServerId, {
    maxItems: MAX_SERVERS,
    description: 'Servers that its files have an entry for. The import reports them and writes no file',
  }),
  tools: orNull(anyObject({ maxProperties: 8 })),
})

const Preset = closed({
  name: Type.String({ pattern: ID_PATTERN, examples: ['work'] }),
  choice: anyObject({ maxProperties: 8 }),
})

const Sealed = closed(
  {
    kdf: Type.Literal('scrypt'),
    n: Type.Literal(32_768),
    r: Type.Literal(8),
    p: Type.Literal(3),
    salt: Type.String({
      pattern: '^[A-Za-z0-9+/]{22}==$',
      expected: '16 bytes as base64',
      examples: ['zcpch2DlHXXsbW1GCH1mxw=='],
    }),
    data: Type.Array(
      Type.String({
        pattern: '^[A-Za-z0-9+/=:]+$',
        maxLength: PART_LENGTH,
        expected: 'encrypted text',
        examples: ['v1:6Rl2SHmRQtnyXk6xwTNcFA=='],
      }),
      { minItems: 1, maxItems: 160, description: 'The encrypted text, in parts' },
    ),
  },
  { description: 'AES-256-GCM over the secrets, bound to the rest of the file' },
)
export type Sealed = Type.Static<typeof Sealed>

export const ExportFile = closed({
  format: Type.Literal(FORMAT),
  version: Type.Literal(1),
  exported_at: Timestamp,
  toolroom_version: Type.String({ maxLength: 64, examples: ['0.1.0'] }),
  servers: Type.Array(Entry, { maxItems: MAX_SERVERS }),
  named_secrets: Type.Array(Type.String({ pattern: NAME_PATTERN, examples: ['GITHUB_TOKEN'] }), {
    maxItems: 1000,
    uniqueItems: true,
    description: 'Names only. Their values are in `secrets`',
  }),
  agents: Type.Array(AgentChoice, { maxItems: 500 }),
  presets: Type.Array(Preset, { maxItems: 100 }),
  secrets: Type.Union([Sealed, Type.Null()]),
})
export type ExportFile = Type.Static<typeof ExportFile>
component({ ExportFile }, 'Servers and the tools that agents see, in one file')
