import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../../../kernel/error-catalogue.ts'
import { AppError, invalidField } from '../../../kernel/errors.ts'
import { type Caller, callerOf, operationsOf, wholeList } from '../../../kernel/rest-parts.ts'
import { ServerKey } from '../../shared/server-fields.ts'
import type { Servers } from '../servers.service.ts'
import { BulkInput, BulkReport, RuntimeList, TrialInput, TrialReport } from './actions.schema.ts'
import { IsolationTrialInput, IsolationTrialReport } from './isolation-trial.schema.ts'

const operation = operationsOf('STDIO servers')
const errors: ErrorCode[] = ['package_not_found', 'bin_unclear']

/** Actions that are not about one registered server. */
export function serverActionRoutes(servers: Servers): FastifyPluginAsyncTypebox {
  return async (app) => {
    const bulk = operation(
      'Start, stop, restart or delete several STDIO servers',
      'Responds when all are done. The status is 200 even when some of them failed; their items have the reason.',
      { body: BulkInput, response: { 200: BulkReport } },
    )
    app.post('/servers/bulk', bulk, (request) => runBulk(servers, request.body, callerOf(request)))

    const runtimes = operation(
      'List the programs that STDIO servers need',
      'Where a start finds them, and which servers need them. Common ones are listed even if no server does. Starts your login shell to find out its PATH, and none of the programs.',
      { response: { 200: RuntimeList } },
    )
    app.get('/runtimes', runtimes, async () => wholeList(await servers.runtimes()))

    const trial = operation(
      'Try out a definition',
      'Starts the definition once without adding it, lists its tools, and ends it. A server that is added with exactly this definition has the result as its `last_try`. The status is 200 even when it did not start; `error` has the reason.',
      { body: TrialInput, response: { 200: TrialReport }, errors },
    )
    app.post('/servers/trial', trial, (request) => servers.trial(request.body))

    const confinement = operation(
      'Try out the isolation of a STDIO server',
      'Starts the server once more with this isolation, beside the running one, makes the calls, and ends it. Nothing is stored: change the server to keep the isolation, for example with `suggested_options`.',
      { params: ServerKey, body: IsolationTrialInput, response: { 200: IsolationTrialReport }, errors },
    )
    app.post('/servers/:id/trial', confinement, (request) =>
      servers.tryIsolation(request.params.id, request.body),
    )
  }
}

type Item = BulkReport['items'][number]

const WAIT_S = 30

/** Does the same to several servers at once. One that fails does not prevent the others. */
async function runBulk(servers: Servers, input: BulkInput, by: Caller): Promise<BulkReport> {
  const { action } = input
  const one = {
    start: (key: string) => servers.start(key, WAIT_S, by),
    restart: (key: string) => servers.restart(key, WAIT_S, by),
    stop: (key: string) => servers.stop(key, by),
    delete: (key: string) => servers.remove(key, by),
  }[action]

  async function itemFor(key: string): Promise<Item> {
    let id = key
    let error: Item['error'] = null
    try {
      id = (await servers.get(key)).id
      await one(id)
    } catch (failure) {
      if (!(failure instanceof AppError)) throw failure
      const { code, message, hint = null, members } = failure
      const { action = null } = (members?.last_error ?? {}) as Partial<NonNullable<Item['error']>>
      error = { code, message, hint, action }
    }
    const now = await servers.get(id).catch(() => undefined)
    return { id, ok: error === null, status: now ? servers.view(now, true).status : null, error }
  }

  const items = await Promise.all((await keysOf(servers, input)).map(itemFor))
  return { action, items, total: items.length, failed: items.filter(({ ok }) => !ok).length }
}

async function keysOf(servers: Pick<Servers, 'list'>, { ids, tag }: BulkInput): Promise<readonly string[]> {
  if ((ids === undefined) === (tag === undefined))
    throw invalidField(ids ? '/tag' : '/ids', 'exactly one of ids and tag is required')
  if (ids !== undefined) return ids
  return (await servers.list()).filter(({ tags }) => tags.some((each) => each === tag)).map(({ id }) => id)
}
