import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { callerOf, NO_CONTENT, operationsOf } from '../../kernel/rest-parts.ts'
import { type Sample, SampleInput, SampleServer } from './sample.service.ts'

const operation = operationsOf('STDIO servers')
const errors: ErrorCode[] = [
  'server_exists',
  'config_unsafe',
  'server_start_failed',
  'start_timeout',
  'out_of_resources',
]

/** A server to try things out with, on a computer that has none. */
export function sampleRoutes(sample: Sample): FastifyPluginAsyncTypebox {
  return async (app) => {
    const get = operation(
      'Find the sample server',
      'Whether it is registered, and where it keeps its notes.',
      {
        response: { 200: SampleServer },
      },
    )
    app.get('/sample-server', get, () => sample.view())

    const add = operation(
      'Add the sample server',
      'Registers and starts a small server that ships with Toolroom: it keeps notes in a folder of its own, and uses no network. If it is registered already, it is only started.',
      { body: Type.Union([SampleInput, Type.Null()]), response: { 201: SampleServer }, errors },
    )
    app.post('/sample-server', add, async (request, reply) =>
      reply.code(201).send(await sample.add(request.body ?? {}, callerOf(request))),
    )

    const remove = operation(
      'Remove the sample server',
      'Stops it, and deletes it with its folder and all notes in it.',
      { response: NO_CONTENT, errors: ['not_found', 'config_unsafe'] },
    )
    app.delete('/sample-server', remove, async (request, reply) => {
      await sample.remove(callerOf(request))
      return reply.code(204).send(null)
    })
  }
}
