import type { StdioServer } from '../run/any-server.ts'
import { type Answer, type Context, dryRun, exitOf, type Run } from '../run/command-context.ts'
import { Failure, usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import { counted } from '../run/human-readable.ts'
import { type Line, signed } from '../run/printed-line.ts'
import { repairCommand } from '../run/repair-command.ts'
import type { Schemas } from '../run/service-client.ts'

type Action = 'start' | 'stop' | 'restart'
type Item = Schemas['BulkReport']['items'][number]
const DOING = { start: 'Starting', stop: 'Stopping', restart: 'Restarting' } as const

/** `toolroom start SERVER...` */
export const start = changeState('start')
/** `toolroom stop SERVER...` */
export const stop = changeState('stop')
/** `toolroom restart SERVER...` */
export const restart = changeState('restart')

function changeState(action: Action): Run {
  return async (context) => {
    const servers = await chosen(action, context)
    const ids = servers.map(({ id }) => id)
    if (context.given.is('dry-run'))
      return dryRun(
        { action, items: servers.map(({ id, status }) => ({ id, status })) },
        servers.map(({ name, status }) => `Would ${action} ${name} (${status})`),
      )
    const [only] = servers
    const what = servers.length === 1 && only ? only.name : counted(servers.length, 'server')
    if (ids.length === 0)
      return { json: { action, items: [], total: 0, failed: 0 }, lines: ['No servers yet.'] }
    const work = context.api.post('/api/servers/bulk', { body: { action, ids } })
    return bulkAnswer(await context.during(`${DOING[action]} ${what}`, work))
  }
}

async function chosen(action: Action, { api, given }: Context): Promise<StdioServer[]> {
  const names = given.words('SERVER')
  const tag = given.flag('tag')
  const isAll = given.is('all')
  if (names.length === 0 && !isAll && tag === undefined)
    throw usage(
      action === 'restart'
        ? 'Which server? To restart the service itself, run toolroom down, then toolroom up'
        : 'Which server?',
      `For example: toolroom ${action} NAME, or --all`,
    )
  const { items } = await api.get('/api/servers')
  if (names.length > 0) {
    const { items: remote } = await api.get('/api/http-servers')
    const found = names.map((name) => findNamed([...items, ...remote], name, 'server'))
    return found.map((server) => {
      if (server.type === 'stdio') return server
      throw usage(
        `${server.name} runs at its own URL and cannot be ${PAST[action]} here`,
        `Try toolroom test ${server.id}`,
      )
    })
  }
  const tagged = items.filter(({ tags }) => tag === undefined || tags.includes(tag))
  if (tag !== undefined && tagged.length === 0)
    throw new Failure('not_found', `No local server has the tag '${tag}'`, null)
  return tagged
}

const PAST = { start: 'started', stop: 'stopped', restart: 'restarted' } as const

function bulkAnswer(report: Schemas['BulkReport']): Answer {
  const { action, items, total, failed } = report
  const [first] = items.filter(({ ok }) => !ok)
  if (first && total === 1) throw failureOf(first)
  return {
    json: report,
    lines: items.map(itemLine),
    plain: items.map(({ id, ok, status, error }) => [id, ok ? 'ok' : 'failed', status, error?.message]),
    exit: exitOf(failed, total),
    next: first
      ? `next: toolroom why ${first.id}`
      : action === 'stop'
        ? undefined
        : `next: toolroom tools ${items[0]?.id}`,
  }
}

function failureOf({ id, error }: Item): Failure {
  const hint = ['Try', tryOf({ id, error })].join(' ')
  return new Failure('failed', error?.message ?? `${id} failed`, hint, error?.code)
}

const tryOf = ({ id, error }: Pick<Item, 'id' | 'error'>): string =>
  error?.action ? `toolroom why ${id}, or ${repairCommand(error.action, id)}` : `toolroom why ${id}`

function itemLine({ id, ok, status, error }: Item): Line {
  if (ok) return signed('ok', `${id}  ${status ?? ''}`)
  const todo = error?.action ? `. Try ${repairCommand(error.action, id)}` : ''
  return signed('err', `${id}  ${error?.message ?? 'failed'}${todo}`)
}
