import { type ForAgents, forAgents, offeredTo } from '../agents/enable-disable.ts'
import { routeOf, serverNamed } from '../run/any-server.ts'
import { type Answer, type Context, dryRun, exitOf, type Run } from '../run/command-context.ts'
import { Failure, usage } from '../run/failure.ts'
import { counted, shortPath } from '../run/human-readable.ts'
import { type Line, signed } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import { readStdin } from '../run/stdin.ts'
import { allowedBy, namesOf, outgoingLines } from './allow.ts'
import { isolationFlag, isolationGiven, isolationText, placeText } from './isolation.ts'

type Report = Schemas['SnippetReport']
type Item = Report['items'][number]

/** `toolroom add NAME -- COMMAND...`, `add URL`, `add PACKAGE`, `add -`, `add sample` */
export const addServer: Run = async (context) => {
  const { api, given } = context
  const isDry = given.is('dry-run')
  const { width } = context.terminal
  if (given.word('WHAT') === SAMPLE && given.rest.length === 0) return addSample(context, isDry)
  const confinement = isolationGiven(given)
  const agents = await forAgents(context)
  const input = { ...(await inputOf(context)), ...confinement, ...agents.body }
  const understood = await api.post('/api/servers/import', { body: { ...input, dry_run: true } })
  // What the words of the command itself say, the user has written. A snippet, a link or a pasted line is of others.
  const isOwn = given.rest.length > 0 || given.all('header').length > 0
  const allow_outgoing = isOwn
    ? namesOf(understood.items.flatMap(({ outgoing }) => outgoing))
    : await allowedBy(context, understood.items)
  const report = isDry
    ? understood
    : await api.post('/api/servers/import', { body: { ...input, allow_outgoing } })
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
  if (isDry)
    return addedAnswer(report, ({ name, outgoing }) => [
      ...(confinement.isolation ? [`  place  ${placeText(confinement.isolation)}`] : []),
      ...outgoingLines(isOwn ? outgoing.map((each) => ({ ...each, allowed: true })) : outgoing, name, width),
    ])
  const places = await placesOf(api, report, confinement.isolation_options !== undefined)
  const offered = await offersOf(context, report, agents)
  const shown = addedAnswer(report, ({ id, name, outgoing }) => [
    ...outgoingLines(outgoing, id ?? name, width),
    ...(places.get(id ?? '') ?? []),
    ...(offered.get(id ?? '')?.lines ?? []),
  ])
  const items = report.items.map((item) => {
    const { enabled = [], used_by_agents = [] } = offered.get(item.id ?? '') ?? {}
    return { ...item, enabled, used_by_agents }
  })
  const isPartly = items.some(({ enabled }) => enabled.some(({ error }) => error))
  const answer = {
    ...shown,
    json: { ...report, items },
    exit: isPartly ? ('partly_done' as const) : shown.exit,
  }
  if (given.is('start'))
    for (const { id, type, name, outgoing } of report.items)
      if (id !== null && type === 'stdio' && outgoing.every(({ allowed }) => allowed))
        await context.during(`Starting ${name}`, api.post('/api/servers/{id}/start', { path: { id } }))
  const id = report.items.length === 1 && given.word('WHAT') !== '-' ? only.id : null
  if (id === null || !given.is('json')) return answer
  const path = { id }
  const server =
    only.type === 'http'
      ? await api.get('/api/http-servers/{id}', { path })
      : await api.get('/api/servers/{id}', { path })
  return { ...answer, json: { ...server, enabled: items[0]?.enabled ?? [] } }
}

/** The agents that see each new server. By id. */
async function offersOf(context: Context, { items }: Report, agents: ForAgents) {
  const offered = new Map<string, Awaited<ReturnType<typeof offeredTo>>>()
  for (const { id, outcome } of items)
    if (id !== null && outcome === 'created') offered.set(id, await offeredTo(context, agents, id))
  return offered
}

const SAMPLE = 'sample'

/** The server that ships with Toolroom. */
async function addSample(context: Context, isDry: boolean): Promise<Answer> {
  const { api, given } = context
  const flag = ['name', 'env', 'header', 'cwd'].find((each) => given.flag(each) !== undefined)
  const unused = flag ?? isolationFlag(given)
  if (unused !== undefined)
    throw usage(`--${unused} is not for the sample server`, `Change it afterwards: toolroom edit ${SAMPLE}`)
  const agents = await forAgents(context)
  const known = await api.get('/api/sample-server')
  const notes = `  notes  ${shortPath(known.folder)}`
  if (isDry) return dryRun(known, [signed('ok', `Would add ${SAMPLE}`), notes])
  const added = await context.during('Starting it', api.post('/api/sample-server', { body: agents.body }))
  const id = added.server_id ?? SAMPLE
  const { enabled, lines } = await offeredTo(context, agents, id)
  const verb = known.server_id === null ? 'Added' : 'Unchanged:'
  return {
    json: { ...(await api.get('/api/servers/{id}', { path: { id } })), enabled },
    lines: [signed('ok', `${verb} ${id}`), notes, ...lines],
    plain: [[id, known.server_id === null ? 'created' : 'exists']],
    next: `next: toolroom call ${id} add_note text='Buy milk'    undo: toolroom rm ${id}`,
    exit: enabled.some(({ error }) => error) ? 'partly_done' : undefined,
  }
}

/** Where the added servers run, if that is in isolation: the flags or DEFAULT_ISOLATION decide. By id. */
async function placesOf(
  api: Api,
  { items }: Report,
  hasOptions: boolean,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const places = new Map<string, readonly string[]>()
  for (const { id, type, outcome } of items) {
    if (id === null || type !== 'stdio' || outcome !== 'created') continue
    const server = await api.get('/api/servers/{id}', { path: { id } })
    if (server.isolation !== 'none') places.set(id, [`  place  ${isolationText(server)}`])
    else if (hasOptions)
      places.set(id, [
        `  note   It runs without isolation until you run: toolroom edit ${id} --isolation sandbox`,
      ])
  }
  return places
}

async function inputOf({ given }: Context): Promise<Schemas['SnippetInput']> {
  const what = given.word('WHAT')
  const [command, ...args] = given.rest
  const env = given.pairs('env')
  const headers = given.pairs('header')
  const named = given.flags('name')
  const { name } = named
  const hasEnv = given.all('env').length > 0
  if (command !== undefined)
    return {
      mcpServers: { [name ?? what]: { command, args, ...(hasEnv && { env }), ...given.flags('cwd') } },
    }
  const flag = isolationFlag(given)
  if (flag !== undefined && /^https?:/i.test(what)) throw usage(`--${flag} is for local servers`, null)
  if (what === '-') return { snippet: await readStdin(), ...named }
  if (given.all('header').length > 0)
    return { mcpServers: { [name ?? hostOf(what)]: { type: 'http', url: what, headers } } }
  if (hasEnv || given.flag('cwd') !== undefined)
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

function addedAnswer(report: Report, moreOf: (item: Item) => readonly (string | Line)[]): Answer {
  const { dry_run, items } = report
  const failed = items.filter(({ outcome }) => outcome === 'refused' || outcome === 'exists')
  const first = items.find(({ id, outcome }) => id !== null && outcome === 'created')
  return {
    json: report,
    lines: [
      ...items.flatMap((item) => itemLines(item, dry_run, moreOf(item))),
      ...(dry_run ? ['Nothing was changed (--dry-run).'] : []),
    ],
    plain: items.map(({ name, outcome, id }) => [id ?? name, outcome]),
    exit: exitOf(failed.length, items.length),
    next: dry_run || !first ? undefined : `next: toolroom ${nextFor(first)} ${first.id}`,
  }
}

const nextFor = ({ type, outgoing }: Item): string =>
  outgoing.some(({ allowed }) => !allowed) ? 'allow' : type === 'http' ? 'test' : 'start'

function itemLines(
  { name, outcome, reason, command, args, url, program, notes, plain_secrets, id }: Item,
  isDry: boolean,
  more: readonly (string | Line)[],
): (string | Line)[] {
  const runs = url ?? [command ?? '', ...args].join(' ')
  if (outcome === 'refused' || outcome === 'exists')
    return [signed('err', `${name}  ${reason ?? 'exists already'}`)]
  const verb =
    outcome === 'created' ? (isDry ? 'Would add' : 'Added') : outcome === 'updated' ? 'Changed' : 'Unchanged:'
  return [
    signed('ok', `${verb} ${id ?? name}`),
    `  runs   ${runs}`,
    ...(program ? [[`  found  ${program.detail}`]] : []),
    ...more,
    ...(plain_secrets.length > 0 ? [`  note   Secrets in plain text: ${plain_secrets.join(', ')}`] : []),
    ...notes.map((note) => `  note   ${note}`),
  ]
}

/** `toolroom rm SERVER` */
export const removeServer: Run = async ({ api, given, confirm }) => {
  const server = await serverNamed(api, given.word('SERVER'))
  const { id, name } = server
  const agents = server.used_by_agents
  const used =
    agents.length === 0 ? '' : ` It is used by ${counted(agents.length, 'agent')}: ${agents.join(', ')}.`
  const sample = id === SAMPLE ? await api.get('/api/sample-server') : undefined
  const isSample = sample?.server_id === id
  const folder = isSample && `${shortPath(sample.folder)} with all notes`
  const what = folder ? `${name}, and delete ${folder}` : name
  if (given.is('dry-run')) return dryRun({ id, used_by_agents: agents }, [`Would remove ${what}.${used}`])
  await confirm(`Remove ${what}?${used}`)
  await (isSample ? api.delete('/api/sample-server') : api.delete(routeOf(server), { path: { id } }))
  return {
    json: { id, removed: true },
    lines: [`Removed ${name}${folder ? `, and deleted ${folder}` : ''}.`],
    next: 'next: toolroom ls',
  }
}
