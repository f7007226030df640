import { agentsIn, agentsOf } from '../agents/agent-named.ts'
import { diffLines, writtenLines } from '../agents/file-change.ts'
import { withReadingApi } from '../agents/reading-api.ts'
import type { Answer, Context, Run } from '../frame/context.ts'
import { usage } from '../frame/failure.ts'
import type { Api, Schemas } from '../frame/typed-api.ts'
import { type Line, toned } from '../output/line.ts'
import { counted } from '../output/units.ts'
import { findAll } from './found.ts'

type Item = Schemas['AgentImportReport']['items'][number]
type Change = Schemas['AgentChangeReport']

/** `toolroom init`: finds agents, imports their servers, and connects the chosen agents to the gateway. */
export const run: Run = async (context) => {
  const { given } = context
  if (given.is('dry-run')) return withReadingApi(context, (api) => plan(context, api))
  if (!given.is('yes') && !process.stdin.isTTY)
    throw usage(
      'There is no terminal to ask on',
      'Add --yes, with --import none or --connect AGENTS if you want that, or --dry-run',
    )
  const { startDetached } = await import('../service/start-detached.ts')
  const { address } = await context.during(
    'Starting Toolroom',
    startDetached(context.config, context.mainFile),
  )
  const { api } = context
  const found = await findAll(api)
  for (const line of found.lines) context.note(line)
  const imported = await importAll(context, api)
  const connected = await connectAll(context, api)
  return {
    json: { dry_run: false, address, scan: found.scan, imported, connected },
    lines: [...importLines(imported, false), ...writtenLines(connected), `Toolroom runs at ${address}`],
    plain: [
      ...imported.map(({ name, outcome }) => [name, outcome]),
      ...connected.map(({ agent_type, path }) => [agent_type, path]),
    ],
    next:
      connected.length > 0
        ? 'next: toolroom ls    undo: toolroom agents restore AGENT'
        : 'next: toolroom open, or toolroom agents connect AGENT',
  }
}

/** What would happen. Reads only. */
async function plan({ given }: Context, api: Api): Promise<Answer> {
  const { scan, lines } = await findAll(api)
  const imported =
    given.flag('import') === 'none'
      ? []
      : (await api.post('/api/agents/import', { body: { dry_run: true } })).items
  const connected = await connects(api, given.flag('connect'), true)
  return {
    json: { dry_run: true, address: null, scan, imported, connected },
    lines: [
      ...lines,
      ...importLines(imported, true),
      ...connected.flatMap(diffLines),
      'Nothing was changed (--dry-run).',
    ],
    plain: imported.map(({ name, outcome }) => [name, outcome]),
  }
}

async function importAll({ given, during, confirm }: Context, api: Api): Promise<Item[]> {
  if (given.flag('import') === 'none') return []
  const { items } = await api.post('/api/agents/import', { body: { dry_run: true } })
  const fresh = items.filter(({ outcome }) => outcome === 'created')
  if (fresh.length === 0) return items
  if (given.flag('import') !== 'all')
    await confirm(`Import ${counted(fresh.length, 'server')}? No file is changed`)
  return (await during('Importing', api.post('/api/agents/import', { body: {} }))).items
}

async function connectAll({ given, note, confirm, during }: Context, api: Api): Promise<Change[]> {
  const planned = await connects(api, given.flag('connect'), true)
  if (planned.length === 0) return []
  if (!given.is('yes')) for (const line of planned.flatMap(diffLines)) note(line)
  await confirm(`Write ${counted(planned.length, 'file')}`)
  return during('Writing', connects(api, given.flag('connect'), false))
}

/** Each agent gets one entry, and its own entries of servers that the gateway offers are kept by Toolroom. */
async function connects(api: Api, list: string | undefined, dry_run: boolean): Promise<Change[]> {
  if (list === undefined) return []
  const reports: Change[] = []
  for (const { agent_type } of agentsIn(await agentsOf(api), list))
    reports.push(
      await api.post('/api/agents/{agent_type}/connect', {
        path: { agent_type },
        body: { take_over: true, dry_run },
      }),
    )
  return reports
}

const importLines = (items: readonly Item[], isDry: boolean): Line[] =>
  items.map(({ name, server_id, outcome, reason, command, args, url }): Line => {
    const runs = url ?? [command ?? '', ...args].join(' ')
    if (outcome === 'refused') return [toned('warn', '! '), `${name}  was not imported. ${reason ?? ''}`]
    if (outcome === 'created')
      return [toned('ok', '✓ '), `${isDry ? 'would import' : 'imported'} ${server_id ?? name}  ${runs}`]
    return [toned('dim', '○ '), `${server_id ?? name}  is registered already`]
  })
