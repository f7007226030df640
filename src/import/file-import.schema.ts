import * as Type from 'typebox'
import { component } from '../kernel/rest-parts.ts'
import { closed, integer, objects, text } from '../kernel/schema-fields.ts'
import { AllowOutgoing } from '../servers/shared/definition/outgoing.ts'
import { dry_run, on_conflict, outcomeFields, outgoingFound } from './import.schema.ts'
import { ExportFile, FORMAT, Passphrase } from './read/export-file/export-file.schema.ts'

const EXAMPLE: ExportFile = {
  format: FORMAT,
  version: 1,
  exported_at: '2026-11-15T09:30:00.000Z',
  toolroom_version: '0.1.0',
  servers: [{ id: 'github', type: 'stdio', definition: { name: 'GitHub', command: 'npx' } }],
  named_secrets: [],
  agents: [],
  presets: [],
  secrets: null,
}

export const FileImportInput = closed({
  file: ExportFile,
  passphrase: Type.Optional(Passphrase),
  on_conflict,
  allow_outgoing: Type.Optional(AllowOutgoing),
  dry_run,
})
export type FileImportInput = Type.Static<typeof FileImportInput>
component({ FileImportInput }, 'An exported file, and how to import it', {
  examples: [{ file: EXAMPLE, dry_run: true }],
})

/** What became of one entry of the file. */
const imported = {
  name: Type.String({ examples: ['github'] }),
  ...outcomeFields,
  notes: Type.Array(text('What is left to do')),
}
const Imported = Type.Object(imported)
export type Imported = Type.Static<typeof Imported>

export const FileImportReport = Type.Object({
  dry_run: Type.Boolean(),
  items: objects({ ...imported, type: Type.Enum(['stdio', 'http']), outgoing: outgoingFound }),
  secrets: Type.Array(Imported),
  agents: Type.Array(Imported, { description: 'What agents see. `name` is the type of the agent' }),
  presets: Type.Array(Imported),
  total: integer('The number of servers in the file', { minimum: 0 }),
})
export type FileImportReport = Type.Static<typeof FileImportReport>
component({ FileImportReport }, 'What became of each entry of the file')
