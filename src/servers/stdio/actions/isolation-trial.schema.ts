import * as Type from 'typebox'
import { component } from '../../../kernel/rest-parts.ts'
import {
  boolean,
  closed,
  integer,
  objects,
  partial,
  text,
  textOrNull,
} from '../../../kernel/schema-fields.ts'
import { isolationInput, isolationView } from '../isolation-settings.ts'
import { TrialReport } from './actions.schema.ts'

const MAX_CALLS = 10
export const MAX_LOST_FILES = 50

export const IsolationTrialInput = partial({
  ...isolationInput,
  calls: Type.Array(
    closed({
      tool: Type.String({ pattern: '^[^\\u0000-\\u001f]{1,200}$', examples: ['read_file'] }),
      arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    }),
    { maxItems: MAX_CALLS, description: 'Tools to call, in this order. They really run' },
  ),
})
export type IsolationTrialInput = Type.Static<typeof IsolationTrialInput>
component({ WallsTrialInput: IsolationTrialInput }, 'Isolation to try out with a server', {
  examples: [{ isolation: 'sandbox', isolation_options: { write: ['~/notes'] } }],
})

export const IsolationTrialReport = Type.Object({
  ...TrialReport.properties,
  isolation: isolationView.isolation,
  calls: objects('One for each call that was made', {
    tool: Type.String({ examples: ['read_file'] }),
    ok: boolean('It returned a result without `isError`'),
    text: text('The beginning of the text of the result, or the error'),
  }),
  refused: objects(
    'What the isolation refused. What it did not try is not seen, which does not mean that it is not needed',
    {
      kind: Type.Enum(['read', 'write', 'network']),
      path: textOrNull('Null for the network', { examples: ['/home/anna/notes'] }),
      evidence: text('The line that says so, or one of the lost files'),
      seen_in: Type.Enum(['errors', 'lost_files'], {
        description:
          '`errors`: the isolation refused it, according to its own errors. `lost_files`: it wrote there, but in memory only',
      }),
    },
  ),
  lost_files: Type.Array(Type.String({ examples: ['~/projects/site/index.html'] }), {
    maxItems: MAX_LOST_FILES,
    description:
      'Files that it wrote into its empty home. They are in memory only, and are lost when it ends. Those outside of hidden folders of the home come first. In a sandbox on Linux; empty elsewhere. Control characters in names are shown as `?`',
  }),
  lost_file_count: integer('How many such files were found. The search ends after 10000 names or 1.5 s'),
  suggested_options: isolationView.isolation_options,
})
export type IsolationTrialReport = Type.Static<typeof IsolationTrialReport>
component(
  { WallsTrialReport: IsolationTrialReport },
  'How the server ran in isolation, and what was kept from it',
)
