import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, listOf, orNull, Timestamp } from '../../kernel/wire.ts'

export const JobKey = Type.Object({ id: Type.String({ examples: ['job_0123456789ab'] }) })

export const JobView = Type.Object({
  id: Type.String({ examples: ['job_0123456789ab'] }),
  kind: Type.String({ examples: ['package_install'] }),
  subject: Type.String({ examples: ['@modelcontextprotocol/server-everything'] }),
  status: Type.Enum(['queued', 'running', 'done', 'failed', 'cancelled']),
  phase: Type.String({ examples: ['installing'] }),
  phases: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['installing'] }),
      started_at: Timestamp,
      finished_at: orNull(Timestamp),
      detail: orNull(
        Type.Object(
          {},
          { additionalProperties: true, description: 'For `waiting`: what continuing will do' },
        ),
      ),
    }),
    { description: 'The phases so far, in order' },
  ),
  created_at: Timestamp,
  started_at: orNull(Timestamp),
  finished_at: orNull(Timestamp),
  output: Type.Array(Type.String(), {
    description: 'The last output lines of npm, or of the container engine',
  }),
  error: Type.Union([
    Type.Object({ code: Type.String(), message: Type.String(), hint: orNull(Type.String()) }),
    Type.Null(),
  ]),
  result: Type.Unknown({ description: 'The response to the original request, once the job is done' }),
})
export type JobView = Static<typeof JobView>
component({ Job: JobView }, 'A job and its output')
export const JobList = listOf(JobView)
