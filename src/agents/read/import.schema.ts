import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, orNull } from '../../kernel/wire.ts'
import { ProjectPath } from '../agents.schema.ts'

const Source = Type.Object({ agent_type: Type.String(), scope: Type.String(), name: Type.String() })

export const ImportInput = Type.Object(
  {
    agents: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        minItems: 1,
        maxItems: 64,
        description: 'All agents if omitted',
      }),
    ),
    names: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
        minItems: 1,
        maxItems: 500,
        description: 'Names of entries; all if omitted',
      }),
    ),
    project_path: Type.Optional(ProjectPath),
    dry_run: Type.Optional(
      Type.Boolean({ default: false, description: 'Report what would happen without changing anything' }),
    ),
  },
  { additionalProperties: false, examples: [{ dry_run: true }] },
)
export type ImportInput = Static<typeof ImportInput>
component({ AgentImportInput: ImportInput }, 'Which entries to register')

export const ImportReport = Type.Object({
  dry_run: Type.Boolean(),
  items: Type.Array(
    Type.Object({
      name: Type.String(),
      type: orNull(Type.Enum(['stdio', 'http', 'sse'])),
      outcome: Type.Enum(['created', 'registered', 'exists', 'refused'], {
        description:
          '`registered`: the same server is registered already; `exists`: another server has this name',
      }),
      server_id: orNull(Type.String()),
      found_in: Type.Array(Source),
      reason: orNull(Type.String()),
      notes: Type.Array(Type.String()),
    }),
  ),
  total: Type.Integer({ minimum: 0 }),
})
export type ImportReport = Static<typeof ImportReport>
component({ AgentImportReport: ImportReport }, 'What became of each entry')
export type ImportItem = ImportReport['items'][number]

export const Scan = Type.Object({
  agents: Type.Array(
    Type.Object({
      agent_type: Type.String(),
      name: Type.String(),
      installed: Type.Boolean(),
      entries: Type.Integer({ minimum: 0 }),
      problems: Type.Array(Type.String()),
    }),
  ),
  agents_found: Type.Integer({ minimum: 0 }),
  entries: Type.Integer({ minimum: 0 }),
  different_servers: Type.Integer({ minimum: 0 }),
  not_registered: Type.Integer({
    minimum: 0,
    description: 'Distinct servers that are not registered yet',
  }),
})
export type Scan = Static<typeof Scan>
component({ AgentScan: Scan }, 'How many agents, entries and servers were found')
