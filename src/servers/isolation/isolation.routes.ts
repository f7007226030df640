import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../../kernel/errors.ts'
import { AsyncQuery, StartedJob } from '../../kernel/wire.ts'
import { IsolationAbilities, type IsolationRoom, PulledImage, PullInput } from './isolation.service.ts'

const tags = ['Isolation']
const PULL: ErrorCode[] = [
  'engine_unavailable',
  'image_not_found',
  'image_login_needed',
  'image_pull_failed',
  'job_cancelled',
]

export function isolationRoutes(isolation: IsolationRoom): FastifyPluginAsyncTypebox {
  return async (app) => {
    const abilities = {
      tags,
      summary: 'What isolation this computer has',
      description:
        'Whether STDIO servers can run in a sandbox or in a container here, and what to do if they cannot. Starts an empty sandbox and asks the container engine; no server is started.',
      response: { 200: IsolationAbilities },
    }
    app.get('/isolation', { schema: abilities }, () => isolation.abilities())

    const pull = {
      tags,
      summary: 'Pull an image',
      description:
        'Downloads an image into the container engine: a start never does. A second request for the same image joins the running job. A server keeps the contents of its first start, also if its tag is pulled again.',
      querystring: AsyncQuery,
      body: PullInput,
      response: { 200: PulledImage, 202: StartedJob },
    }
    app.post('/images/pull', { schema: pull, config: { errors: PULL } }, async (request, reply) => {
      const { job, settled } = isolation.pull(request.body.image, { request_id: request.id })
      if (!request.query.async) return reply.code(200).send(await settled)
      return reply.code(202).header('location', `/api/jobs/${job}`).send({ job })
    })
  }
}
