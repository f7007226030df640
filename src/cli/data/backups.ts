import { agentTypesNamed } from '../agents/find-agent.ts'
import { type Context, emptyList, exitOf, type Run, rowWith } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { bytes, clock, shortPath } from '../run/human-readable.ts'
import { type Line, signed, toned } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import { withOwnService } from '../service/service-on-demand.ts'

type Report = Schemas['RestoreReport']
type Item = Report['items'][number]

/** `toolroom backup ls` */
export const listBackups: Run = async (context) => {
  const list = await withOwnService(context, (api) => api.get('/api/backups'))
  if (list.items.length === 0)
    return emptyList(list, 'No backups yet: Toolroom has changed no file of an agent.')
  return {
    json: list,
    table: {
      head: ['TIME', 'AGENT', 'BEFORE', 'SIZE', 'FILE'],
      rows: list.items.map(({ ts, agent_type, action, names, original, bytes: size, path }) => [
        clock(ts),
        agent_type,
        `${action.replace('_', ' ')} ${names.join(', ')}${original ? ' (first original)' : ''}`.trim(),
        bytes(size),
        path,
      ]),
    },
    plain: list.items.map((item) => rowWith(item, 'id', 'ts', 'agent_type', 'scope', 'action', 'path')),
    next: 'next: toolroom backup restore AGENT --dry-run',
  }
}

/** `toolroom backup restore AGENT|--all` */
export const restoreBackup: Run = async (context) => {
  const name = context.given.wordIfAny('AGENT')
  if ((name === undefined) === !context.given.is('all'))
    throw usage('Name an agent, or give --all', 'For example: toolroom backup restore cursor --dry-run')
  return withOwnService(context, (api) => restore(context, api, name))
}

async function restore({ given, confirm, during, note }: Context, api: Api, name: string | undefined) {
  const [agent_type] = name === undefined ? [] : await agentTypesNamed(api, [name])
  const chosen = agent_type === undefined ? {} : { agent_type }
  const planned = await api.post('/api/backups/restore', { body: { ...chosen, dry_run: true } })
  if (planned.items.length === 0) return emptyList(planned, 'There is nothing to restore.')
  if (given.is('dry-run'))
    return {
      ...restoredAnswer(planned),
      lines: [...planned.items.flatMap(restoredLines), 'Nothing was changed (--dry-run).'],
    }
  if (!given.is('yes')) for (const line of planned.items.flatMap(restoredLines)) note(line)
  await confirm('Write these files?')
  return restoredAnswer(await during('Restoring', api.post('/api/backups/restore', { body: chosen })))
}

function restoredAnswer(report: Report) {
  const failed = report.items.filter(({ problem }) => problem !== null).length
  return {
    json: report,
    lines: report.items.flatMap(restoredLines),
    plain: report.items.map(({ agent_type, path, changed, exact, problem }) => [
      agent_type,
      path,
      problem ?? (changed ? (exact ? 'exact' : 'changed') : 'unchanged'),
    ]),
    exit: exitOf(failed, report.items.length),
  }
}

function restoredLines({ agent_type, path, exact, changed, diff, problem, reload_hint }: Item): Line[] {
  if (problem !== null) return [signed('err', `${agent_type}  ${shortPath(path)}: ${problem}`)]
  const what = changed ? (exact ? 'byte for byte as before' : 'only our entries change') : 'unchanged'
  return [
    signed('ok', `${agent_type}  ${shortPath(path)}: ${what}`),
    ...diff
      .split('\n')
      .filter((line) => line !== '')
      .map((line): Line => [toned(line.startsWith('-') ? 'err' : line.startsWith('+') ? 'ok' : 'dim', line)]),
    ...(changed && reload_hint !== null ? [[toned('dim', `  Reload: ${reload_hint}`)]] : []),
  ]
}
