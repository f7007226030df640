import * as Type from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import { component } from '../../kernel/rest-parts.ts'
import { closed, integer, objects, text } from '../../kernel/schema-fields.ts'
import type { HttpServers } from '../http/http-servers.service.ts'
import type { JobHandle, Jobs } from '../jobs/jobs.ts'
import { isHeld } from '../shared/definition/outgoing.ts'
import { lastErrorSchema, MAX_SERVERS, ServerId, toolFields } from '../shared/server-fields.ts'
import type { Upstream } from '../shared/upstream.ts'
import type { Upstreams } from '../shared/upstreams.ts'
import type { Servers } from '../stdio/servers.service.ts'

const Outcome = Type.Enum(['works', 'failed', 'skipped'], {
  description:
    '`skipped`: a user has stopped or disabled it, or has not allowed what it would get, or it runs with the former value of a secret',
})

export const TryInput = closed({
  ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      minItems: 1,
      maxItems: MAX_SERVERS,
      uniqueItems: true,
      description: 'Ids or exact names of servers of both kinds. Without it: all',
    }),
  ),
})
export type TryInput = Type.Static<typeof TryInput>
component({ TryInput }, 'Which servers to try', { examples: [{ ids: ['github'] }] })

export const TryReport = Type.Object({
  items: objects('One for each server, in the order of `ids`, or of their names', {
    id: ServerId,
    outcome: Outcome,
    summary: text('Its health afterwards, in one sentence', {
      examples: ['Asleep with 12 tools; a call wakes it'],
    }),
    tool_count: toolFields.tool_count,
    error: lastErrorSchema('command_not_found'),
  }),
  total: Type.Integer(),
  works: Type.Integer(),
  failed: Type.Integer(),
  skipped: integer('Servers that were not started'),
})
export type TryReport = Type.Static<typeof TryReport>
component({ TryReport }, 'What became of each server')

type Item = TryReport['items'][number]

interface Deps {
  readonly upstreams: Pick<Upstreams, 'all'>
  readonly servers: Pick<Servers, 'get' | 'view' | 'tryOnce'>
  readonly httpServers: Pick<HttpServers, 'get' | 'view' | 'test'>
  readonly jobs: Pick<Jobs, 'run'>
}

/** So many processes exist at once only because they are tried. */
const AT_ONCE = 4

/** Starts servers once, or connects to them, to see whether they work. */
export function createTries({ upstreams, servers, httpServers, jobs }: Deps) {
  async function tried({ id, kind }: Upstream): Promise<Item> {
    if (kind === 'http') {
      const server = await httpServers.get(id)
      if (server.enabled && !isHeld(server)) await httpServers.test(id)
      return itemOf(httpServers.view(await httpServers.get(id)))
    }
    await servers.tryOnce(id)
    return itemOf(servers.view(await servers.get(id), true))
  }

  async function tryAll(chosen: readonly Upstream[], { phase, line, signal }: JobHandle): Promise<TryReport> {
    const items = new Map<string, Item>()
    const left = [...chosen]
    const progress = () => phase('trying', { tried: items.size, total: chosen.length, ...countsOf(items) })
    const worker = async () => {
      for (let next = left.shift(); next && !signal.aborted; next = left.shift()) {
        const item = await tried(next).catch(deleted)
        if (!item) continue
        items.set(next.id, item)
        line(`${next.name}: ${item.summary}`)
        progress()
      }
    }
    progress()
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    signal.throwIfAborted()
    return {
      items: chosen.flatMap(({ id }) => items.get(id) ?? []),
      total: items.size,
      ...countsOf(items),
    }
  }

  /** A second request for the same servers joins the running job. */
  return ({ ids }: TryInput): { readonly job: string; readonly settled: Promise<TryReport> } => {
    const all = upstreams.all().toSorted((a, b) => a.name.localeCompare(b.name))
    const chosen = ids ? ids.map((key) => named(all, key)) : all
    const subject = chosen.length === 1 ? (chosen[0]?.name ?? '') : `${chosen.length} servers`
    const key = `server_try ${chosen.map(({ id }) => id).join(' ')}`
    const { id, settled } = jobs.run('server_try', subject, key, (handle) => tryAll(chosen, handle))
    return { job: id, settled }
  }
}
export type TryServers = ReturnType<typeof createTries>

function named(all: readonly Upstream[], key: string): Upstream {
  const found = all.find(({ id }) => id === key) ?? all.find(({ name }) => name === key)
  if (found) return found
  throw new AppError('not_found', `No server has the id or name '${key}'`)
}

type View = ReturnType<Deps['servers']['view']> | ReturnType<Deps['httpServers']['view']>

function itemOf({ id, health, tool_count, last_error }: View): Item {
  const isOff = OFF.includes(health.state) || health.works === null
  const outcome = isOff ? 'skipped' : health.works ? 'works' : 'failed'
  return { id, outcome, summary: health.summary, tool_count, error: outcome === 'failed' ? last_error : null }
}

const OFF: readonly string[] = ['stopped', 'disabled', 'not_allowed']

/** It was deleted meanwhile. */
function deleted(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code !== 'not_found') throw error
}

function countsOf(items: ReadonlyMap<string, Item>) {
  const of = (outcome: Item['outcome']) =>
    [...items.values()].filter((item) => item.outcome === outcome).length
  return { works: of('works'), failed: of('failed'), skipped: of('skipped') }
}
