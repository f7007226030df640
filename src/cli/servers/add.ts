import type { Answer, Context, Run } from '../frame/context.ts'
import { Failure, usage } from '../frame/failure.ts'
import { readStdin } from '../frame/stdin.ts'
import type { Schemas } from '../frame/typed-api.ts'
import { type Line, toned } from '../output/line.ts'
import { pairs } from './pairs.ts'

type Report = Schemas['SnippetReport']
type Item = Report['items'][number]

/** `toolroom add NAME -- COMMAND...`, `add URL`, `add PACKAGE`, `add -` */
export const run: Run = async (context) => {
  const { api, given } = context
  const isDry = given.is('dry-run')
  const input = await inputOf(context)
  const report = await api.post('/api/servers/import', { body: { ...input, dry_run: isDry } })
  const [only] = report.items
  if (!only) throw usage('No server was found in this input', 'See toolroom add --help')
  if (report.items.length === 1 && only.outcome === 'refused')
    throw new Failure('failed', `${only.name} was not added. ${only.reason ?? ''}`.trim(), null, 'refused')
  if (report.items.length === 1 && only.outcome === 'exists')
    throw new Failure(
      'conflict',
      `A server called ${only.name} exists already`,
      'Give another name with --name',
      'server_exists',
    )
  if (isDry || !given.is('start')) return answerOf(report)
  for (const { id, type, name } of report.items)
    if (id !== null && type === 'stdio')
      await context.during(`Starting ${name}`, api.post('/api/servers/{id}/start', { path: { id } }))
  return answerOf(report)
}

async function inputOf({ given }: Context): Promise<Schemas['SnippetInput']> {
  const what = given.word('WHAT')
  const [command, ...args] = given.rest
  const env = pairs('env', given.all('env'))
  const headers = pairs('header', given.all('header'))
  const cwd = given.flag('cwd')
  const name = given.flag('name')
  const named = name === undefined ? {} : { name }
  if (command !== undefined) {
    const definition = {
      command,
      args,
      ...(given.all('env').length > 0 && { env }),
      ...(cwd !== undefined && { cwd }),
    }
    return { mcpServers: { [name ?? what]: definition } }
  }
  if (what === '-') return { snippet: await readStdin(), ...named }
  if (given.all('header').length > 0)
    return { mcpServers: { [name ?? hostOf(what)]: { type: 'http', url: what, headers } } }
  if (given.all('env').length > 0 || cwd !== undefined)
    throw usage(
      '--env and --cwd belong to a command',
      'For example: toolroom add NAME --env KEY=VALUE -- COMMAND',
    )
  return { snippet: what, ...named }
}

function hostOf(url: string): string {
  if (URL.canParse(url)) return new URL(url).hostname.replace(/^(?:www|mcp|api)\./, '').split('.')[0] ?? url
  throw usage(
    '--header belongs to a URL',
    'For example: toolroom add https://example.com/mcp --header NAME=VALUE',
  )
}

function answerOf(report: Report): Answer {
  const { dry_run, items } = report
  const failed = items.filter(({ outcome }) => outcome === 'refused' || outcome === 'exists')
  const first = items.find(({ id, outcome }) => id !== null && outcome === 'created')
  return {
    json: report,
    lines: [
      ...items.flatMap((item) => linesOf(item, dry_run)),
      ...(dry_run ? ['Nothing was changed (--dry-run).'] : []),
    ],
    plain: items.map(({ name, outcome, id }) => [id ?? name, outcome]),
    exit: failed.length === 0 ? undefined : failed.length === items.length ? 'failed' : 'partly_done',
    next:
      dry_run || !first
        ? undefined
        : `next: toolroom ${first.type === 'http' ? 'test' : 'start'} ${first.id}`,
  }
}

function linesOf(
  { name, outcome, reason, command, args, url, program, notes, plain_secrets, id }: Item,
  isDry: boolean,
): Line[] {
  const runs = url ?? [command ?? '', ...args].join(' ')
  if (outcome === 'refused' || outcome === 'exists')
    return [[toned('err', '✕ '), `${name}  ${reason ?? 'exists already'}`]]
  const verb =
    outcome === 'created' ? (isDry ? 'Would add' : 'Added') : outcome === 'updated' ? 'Changed' : 'Unchanged:'
  return [
    [toned('ok', '✓ '), `${verb} ${id ?? name}`],
    `  runs   ${runs}`,
    ...(program ? [[`  found  ${program.detail}`]] : []),
    ...(plain_secrets.length > 0 ? [`  note   Secrets in plain text: ${plain_secrets.join(', ')}`] : []),
    ...notes.map((note) => `  note   ${note}`),
  ]
}
