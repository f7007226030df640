import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { component, listOf, operationsOf, orNull, Timestamp, wholeList } from '../../kernel/rest-parts.ts'
import { anyObject, objects, texts } from '../../kernel/schema-fields.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Job, Jobs } from './jobs.ts'

const operation = operationsOf('Jobs')

export function jobRoutes(
  jobs: Pick<Jobs, 'list' | 'get' | 'cancel' | 'continue'>,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation('List jobs, newest first', 'Finished jobs are kept for a while.', {
      response: { 200: JobList },
    })
    app.get('/jobs', list, async () => wholeList(jobs.list().map(jobView)))

    const get = operation('Get one job', 'Its phase, output and result.', {
      params: JobKey,
      response: { 200: JobView },
    })
    app.get('/jobs/:id', get, async (request) => jobView(jobs.get(request.params.id)))

    const cancel = operation(
      'Cancel a job',
      'Answers when the job has stopped and cleaned up. A finished job is not changed.',
      { params: JobKey, response: { 200: JobView } },
    )
    app.post('/jobs/:id/cancel', cancel, async (request) => jobView(await jobs.cancel(request.params.id)))

    const resume = operation(
      'Continue a waiting job',
      'An update with `hold=true` waits before it replaces the old version. The detail of its phase `waiting` has the difference.',
      { params: JobKey, response: { 200: JobView }, errors: ['job_not_waiting'] },
    )
    app.post('/jobs/:id/continue', resume, async (request) => jobView(jobs.continue(request.params.id)))
  }
}

function jobView(job: Job): JobView {
  const { error } = job
  return {
    ...job,
    phases: job.phases.map(({ name, started_at, finished_at, detail }) => ({
      name,
      started_at: isoTime(started_at),
      finished_at: finished_at === null ? null : isoTime(finished_at),
      detail,
    })),
    created_at: isoTime(job.created_at),
    started_at: job.started_at === null ? null : isoTime(job.started_at),
    finished_at: job.finished_at === null ? null : isoTime(job.finished_at),
    output: [...job.output],
    error: error && { code: error.code, message: error.message, hint: error.hint ?? null },
  }
}

const JobKey = Type.Object({ id: Type.String({ examples: ['job_0123456789ab'] }) })

export const JobView = Type.Object({
  id: Type.String({ examples: ['job_0123456789ab'] }),
  kind: Type.String({ examples: ['package_install'] }),
  subject: Type.String({ examples: ['@modelcontextprotocol/server-everything'] }),
  status: Type.Enum(['queued', 'running', 'done', 'failed', 'cancelled']),
  phase: Type.String({ examples: ['installing'] }),
  phases: objects('The phases so far, in order', {
    name: Type.String({ examples: ['installing'] }),
    started_at: Timestamp,
    finished_at: orNull(Timestamp),
    detail: orNull(anyObject({ description: 'For `waiting`: what continuing will do' })),
  }),
  created_at: Timestamp,
  started_at: orNull(Timestamp),
  finished_at: orNull(Timestamp),
  output: texts('The last output lines of npm, or of the container engine'),
  error: Type.Union([
    Type.Object({ code: Type.String(), message: Type.String(), hint: orNull(Type.String()) }),
    Type.Null(),
  ]),
  result: Type.Unknown({ description: 'The response to the original request, once the job is done' }),
})
export type JobView = Type.Static<typeof JobView>
component({ Job: JobView }, 'A job and its output')
const JobList = listOf(JobView)
