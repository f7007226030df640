import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { wholeList } from '../../../kernel/wire.ts'
import { ServerKey } from '../../shared/server-fields.ts'
import type { Servers } from '../servers.service.ts'
import {
  BulkInput,
  BulkReport,
  TrialInput,
  TrialReport,
  WallsTrialInput,
  WallsTrialReport,
} from './actions.schema.ts'
import { runBulk } from './bulk.ts'
import { RuntimeList } from './runtimes.schema.ts'

const tags = ['STDIO servers']

/** Actions that are not about one registered server. */
export function serverActionRoutes(servers: Servers): FastifyPluginAsyncTypebox {
  return async (app) => {
    const bulk = {
      tags,
      summary: 'Start, stop, restart or delete several STDIO servers',
      description:
        'Responds when all are done. The status is 200 even when some of them failed; their items have the reason.',
      body: BulkInput,
      response: { 200: BulkReport },
    }
    app.post('/servers/bulk', { schema: bulk }, (request) =>
      runBulk(servers, request.body, { request_id: request.id }),
    )

    const runtimes = {
      tags,
      summary: 'List the programs that STDIO servers need',
      description:
        'Where a start finds them, and which servers need them. Common ones are listed even if no server does. Starts your login shell to find out its PATH, and none of the programs.',
      response: { 200: RuntimeList },
    }
    app.get('/runtimes', { schema: runtimes }, async () => wholeList(await servers.runtimes()))

    const trial = {
      tags,
      summary: 'Try out a definition',
      description:
        'Starts the definition once without adding it, lists its tools, and ends it. The status is 200 even when it did not start; `error` has the reason.',
      body: TrialInput,
      response: { 200: TrialReport },
    }
    const config = { errors: ['package_not_found', 'bin_unclear'] }
    app.post('/servers/trial', { schema: trial, config }, (request) => servers.trial(request.body))

    const confinement = {
      tags,
      summary: 'Try out the isolation of a STDIO server',
      description:
        'Starts the server once more with this isolation, beside the running one, makes the calls, and ends it. Nothing is stored: change the server to keep the isolation, for example with `suggested_options`.',
      params: ServerKey,
      body: WallsTrialInput,
      response: { 200: WallsTrialReport },
    }
    app.post('/servers/:id/trial', { schema: confinement, config }, (request) =>
      servers.tryIsolation(request.params.id, request.body),
    )
  }
}
