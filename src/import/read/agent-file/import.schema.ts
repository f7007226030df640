import type { Static } from 'typebox'
import * as Type from 'typebox'
import { ProjectPath } from '../../../agents/read/agents.schema.ts'
import { component, orNull } from '../../../kernel/wire.ts'
import { factFields, importOptions, shownFields } from '../../options/import-fields.ts'

const Source = Type.Object({
  agent_type: Type.String(),
  scope: Type.String(),
  project: orNull(Type.String({ description: 'The folder of the project that the entry belongs to' })),
  name: Type.String(),
})
export type Source = Static<typeof Source>

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
    update: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Servers that are registered with other settings get those of the entry',
      }),
    ),
    ...importOptions,
  },
  { additionalProperties: false, examples: [{ dry_run: true }] },
)
export type ImportInput = Static<typeof ImportInput>
component({ AgentImportInput: ImportInput }, 'Which entries to register')

const Type_ = orNull(Type.Enum(['stdio', 'http', 'sse']))

/** An entry of the same name, or of the same server, with another definition. */
const Variant = Type.Object({
  ...Source.properties,
  type: Type_,
  ...shownFields,
  differs: Type.Array(Type.String(), {
    description: 'Where it differs from the item',
    examples: [['env GITHUB_TOKEN']],
  }),
})

export const ImportReport = Type.Object({
  dry_run: Type.Boolean(),
  items: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type_,
      outcome: Type.Enum(['created', 'updated', 'registered', 'exists', 'refused'], {
        description:
          '`updated`: only with `update`; `registered`: the same server is registered already; `exists`: another server has this name',
      }),
      server_id: orNull(Type.String()),
      found_in: Type.Array(Source),
      variants: Type.Array(Variant, {
        description:
          'Other definitions of the same name or the same server. An item takes the first one that was found; `agents` chooses another',
      }),
      reason: orNull(Type.String()),
      ...factFields,
      notes: Type.Array(Type.String()),
    }),
  ),
  total: Type.Integer({ minimum: 0 }),
})
export type ImportReport = Static<typeof ImportReport>
component({ AgentImportReport: ImportReport }, 'What became of each entry')
export type ImportItem = ImportReport['items'][number]
export type Variant = Static<typeof Variant>

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
