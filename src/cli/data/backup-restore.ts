import type { Context, Run } from '../run/context.ts'
import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import { type Line, toned } from '../run/line.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import { withOwnService } from '../service/own-service.ts'

type Report = Schemas['RestoreReport']
type Item = Report['items'][number]

/** `toolroom backup restore AGENT|--all` */
export const restoreBackup: Run = async (context) => {
  const name = context.given.wordIfAny('AGENT')
  if ((name === undefined) === !context.given.is('all'))
    throw usage('Name an agent, or give --all', 'For example: toolroom backup restore cursor --dry-run')
  return withOwnService(context, (api) => restore(context, api, name))
}

async function restore({ given, confirm, during, note }: Context, api: Api, name: string | undefined) {
  const chosen = name === undefined ? {} : await agentNamed(api, name)
  const planned = await api.post('/api/backups/restore', { body: { ...chosen, dry_run: true } })
  if (planned.items.length === 0) return { json: planned, plain: [], lines: ['There is nothing to restore.'] }
  if (given.is('dry-run'))
    return {
      ...shown(planned),
      lines: [...planned.items.flatMap(linesOf), 'Nothing was changed (--dry-run).'],
    }
  if (!given.is('yes')) for (const line of planned.items.flatMap(linesOf)) note(line)
  await confirm('Write these files?')
  return shown(await during('Restoring', api.post('/api/backups/restore', { body: chosen })))
}

async function agentNamed(api: Api, name: string): Promise<{ agent_type: string }> {
  const { items } = await api.get('/api/agents')
  const agents = items.map(({ agent_type, name }) => ({ id: agent_type, name }))
  return { agent_type: findNamed(agents, name, 'agent').id }
}

function shown(report: Report) {
  const failed = report.items.filter(({ problem }) => problem !== null).length
  return {
    json: report,
    lines: report.items.flatMap(linesOf),
    plain: report.items.map(({ agent_type, path, changed, exact, problem }) => [
      agent_type,
      path,
      problem ?? (changed ? (exact ? 'exact' : 'changed') : 'unchanged'),
    ]),
    exit:
      failed === 0
        ? undefined
        : failed === report.items.length
          ? ('failed' as const)
          : ('partly_done' as const),
  }
}

function linesOf({ agent_type, path, exact, changed, diff, problem, reload_hint }: Item): Line[] {
  if (problem !== null) return [[toned('err', '✕ '), `${agent_type}  ${path}: ${problem}`]]
  const what = changed ? (exact ? 'byte for byte as before' : 'only our entries change') : 'unchanged'
  return [
    [toned('ok', '✓ '), `${agent_type}  ${path}: ${what}`],
    ...diff
      .split('\n')
      .filter((line) => line !== '')
      .map((line): Line => [toned(line.startsWith('-') ? 'err' : line.startsWith('+') ? 'ok' : 'dim', line)]),
    ...(changed && reload_hint !== null ? [[toned('dim', `  Reload: ${reload_hint}`)]] : []),
  ]
}
