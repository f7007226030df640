import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, orNull } from '../kernel/wire.ts'
import { ServerName } from '../servers/shared/server-fields.ts'
import { isolationInput } from '../servers/stdio/isolation.ts'
import { factFields, importOptions } from './options/import-fields.ts'

const Entries = Type.Object({}, { additionalProperties: true, maxProperties: 500 })

/** A snippet as text, or a JSON snippet as the body itself. */
export const ImportInput = Type.Object(
  {
    snippet: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 262_144,
        description: 'JSON, JSON with comments, TOML, or a command line',
      }),
    ),
    mcpServers: Type.Optional(Entries),
    servers: Type.Optional(Entries),
    inputs: Type.Optional(
      Type.Array(Type.Unknown(), {
        maxItems: 100,
        description: 'Written by VS Code; their defaults are used',
      }),
    ),
    on_conflict: Type.Optional(
      Type.Enum(['skip', 'update'], { default: 'skip', description: 'What to do when the name is taken' }),
    ),
    name: Type.Optional(
      Type.Unsafe<string>({
        ...ServerName,
        description: 'The name of the server. Only for a snippet with one server',
      }),
    ),
    ...importOptions,
    ...isolationInput,
  },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [
      { mcpServers: { github: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-github'] } } },
    ],
  },
)
export type ImportInput = Static<typeof ImportInput>
component({ SnippetInput: ImportInput }, 'A snippet with servers to import')

const OUTCOMES = ['created', 'updated', 'unchanged', 'exists', 'refused'] as const

export const ImportReport = Type.Object({
  dry_run: Type.Boolean(),
  items: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['github'] }),
      type: orNull(Type.Enum(['stdio', 'http'])),
      outcome: Type.Enum(OUTCOMES),
      id: orNull(Type.String({ description: 'The id of the created, updated or conflicting server' })),
      reason: orNull(Type.String({ description: 'Why the entry was refused or skipped' })),
      ...factFields,
      env: Type.Array(Type.String(), {
        description: 'The names of its environment variables',
        examples: [['GITHUB_TOKEN']],
      }),
      headers: Type.Array(Type.String(), { description: 'The names of its headers' }),
      cwd: orNull(Type.String({ examples: ['/home/me/notes'] })),
      program: orNull(
        Type.Object(
          {
            ok: Type.Boolean({ description: 'The command was found on this computer' }),
            detail: Type.String({ examples: ['The program is /usr/bin/npx'] }),
          },
          { description: 'Of a STDIO server' },
        ),
      ),
      notes: Type.Array(Type.String()),
    }),
  ),
  total: Type.Integer(),
})
export type ImportReport = Static<typeof ImportReport>
component({ SnippetReport: ImportReport }, 'What became of each entry of the snippet')
export type ImportItem = ImportReport['items'][number]
