import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { AsyncQuery, callerOf, operationsOf, StartedJob } from '../../kernel/rest-parts.ts'
import { IsolationAbilities, type IsolationRoom, PulledImage, PullInput } from './isolation.service.ts'

const operation = operationsOf('Isolation')
const PULL: ErrorCode[] = [
  'engine_unavailable',
  'image_not_found',
  'image_login_needed',
  'image_pull_failed',
  'job_cancelled',
]

export function isolationRoutes(isolation: IsolationRoom): FastifyPluginAsyncTypebox {
  return async (app) => {
    const abilities = operation(
      'What isolation this computer has',
      'Whether STDIO servers can run in a sandbox or in a container here, and what to do if they cannot. Starts an empty sandbox and asks the container engine; no server is started.',
      { response: { 200: IsolationAbilities } },
    )
    app.get('/isolation', abilities, () => isolation.abilities())

    const pull = operation(
      'Pull an image',
      'Downloads an image into the container engine: a start never does. A second request for the same image joins the running job. A server keeps the contents of its first start, also if its tag is pulled again.',
      {
        querystring: AsyncQuery,
        body: PullInput,
        response: { 200: PulledImage, 202: StartedJob },
        errors: PULL,
      },
    )
    app.post('/images/pull', pull, async (request, reply) => {
      const { job, settled } = isolation.pull(request.body.image, callerOf(request))
      if (!request.query.async) return reply.code(200).send(await settled)
      return reply.code(202).header('location', `/api/jobs/${job}`).send({ job })
    })
  }
}
