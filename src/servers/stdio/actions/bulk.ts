import { AppError, invalidField } from '../../../kernel/errors.ts'
import type { Caller } from '../../../kernel/wire.ts'
import type { Server, ServerView } from '../servers.schema.ts'
import type { BulkInput, BulkReport } from './actions.schema.ts'

interface Servers {
  list(): Promise<Server[]>
  get(key: string): Promise<Server>
  view(server: Server, isOwner: boolean): ServerView
  start(key: string, waitS: number, by: Caller): Promise<unknown>
  restart(key: string, waitS: number, by: Caller): Promise<unknown>
  stop(key: string, by: Caller): Promise<unknown>
  remove(key: string, by: Caller): Promise<void>
}
type Item = BulkReport['items'][number]

const WAIT_S = 30

/** Does the same to several servers at once. One that fails does not prevent the others. */
export async function runBulk(servers: Servers, input: BulkInput, by: Caller): Promise<BulkReport> {
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
      error = { code: failure.code, message: failure.message, hint: failure.hint ?? null }
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
