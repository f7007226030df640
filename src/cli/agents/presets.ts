import { allServers } from '../run/any-server.ts'
import { type Context, dryRun, emptyList, type Run } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import { counted, thousands } from '../run/human-readable.ts'
import { type Line, toned } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import { agentNamed } from './find-agent.ts'

/** `toolroom presets ls` */
export const listPresets: Run = async ({ api }) => {
  const { items } = await api.get('/api/presets')
  const [first] = items
  if (!first) return emptyList({ items }, 'No presets yet.', 'next: toolroom presets save NAME --from AGENT')
  return {
    json: { items },
    table: {
      head: ['PRESET', 'SERVERS', 'TOOLS', 'CHANGED'],
      rows: items.map(({ name, servers, tools, updated_at }) => [
        name,
        servers === null ? 'all' : servers.join(' '),
        Object.keys(tools).length === 0 ? 'all' : `chosen in ${counted(Object.keys(tools).length, 'server')}`,
        updated_at.slice(0, 16).replace('T', ' '),
      ]),
    },
    next: `next: toolroom presets apply ${first.name} AGENT`,
  }
}

/** `toolroom presets save PRESET --from AGENT`, or `--servers LIST` */
export const savePreset: Run = async (context) => {
  const { api, given } = context
  const name = given.word('PRESET')
  const body = await choiceOf(context)
  const what = body.servers === null || body.servers === undefined ? 'all servers' : body.servers.join(', ')
  if (given.is('dry-run')) return dryRun({ name, ...body }, [`Would save ${name}: ${what}`])
  const preset = await api.put('/api/presets/{name}', { path: { name }, body })
  const next = `next: toolroom presets apply ${name} AGENT`
  return { json: preset, lines: [`Saved ${name}: ${what}`], next }
}

async function choiceOf({ api, given }: Context): Promise<Schemas['PresetInput']> {
  const agent = given.flag('from')
  const list = given.flag('servers')
  if ((agent === undefined) === (list === undefined))
    throw usage('Which servers?', 'Add --from AGENT or --servers LIST')
  if (list !== undefined) {
    const servers = await allServers(api)
    return { servers: list.split(',').map((word) => findNamed(servers, word.trim(), 'server').id) }
  }
  const { agent_type } = await agentNamed(api, agent ?? '')
  const { servers, tools } = await api.get('/api/agents/{agent_type}/tools', { path: { agent_type } })
  return { servers, tools }
}

/** `toolroom agents apply AGENT PRESET`, and `toolroom presets apply PRESET AGENT`. Asks if the agent gains something. */
export const applyPreset: Run = async ({ api, given, note, confirm }) => {
  const { agent_type, name } = await agentNamed(api, given.word('AGENT'))
  const preset = await presetNamed(api, given.word('PRESET'))
  const isDry = given.is('dry-run')
  const apply = (dry_run: boolean) =>
    api.post('/api/agents/{agent_type}/apply', { path: { agent_type }, body: { preset, dry_run } })
  const planned = await apply(true)
  const follows = planned.servers === null && planned.before.servers !== null
  if (!isDry && (follows || planned.gained.length > 0 || planned.more_tools.length > 0)) {
    if (!given.is('yes')) for (const line of changeLines(planned)) note(line)
    await confirm(`Apply ${preset} to ${name}?`)
  }
  const report = isDry ? planned : await apply(false)
  const { visible, warnings } = report
  const shown = `${counted(visible.servers, 'server')}, ${counted(visible.tools, 'tool')}, about ${thousands(visible.tokens)} tokens`
  return {
    json: report,
    lines: [
      `${agent_type} ${isDry ? 'would get' : 'gets'} ${preset}: ${shown}`,
      ...changeLines(report),
      ...warnings.map((warning) => `! ${warning}`),
      ...(isDry ? ['Nothing was changed (--dry-run).'] : []),
    ],
    next: isDry ? undefined : `next: toolroom agents show ${agent_type}`,
  }
}

/** What the agent sees before and after. */
function changeLines({
  before,
  visible,
  servers,
  gained,
  lost,
  more_tools,
}: Schemas['AppliedPreset']): Line[] {
  const row = (label: string, text: string, tone?: 'warn'): Line => [
    toned('dim', `  ${label.padEnd(12)} `),
    toned(tone, text),
  ]
  const isAll = servers === null ? ', and all that are added later' : ''
  return [
    row('Servers', `${before.visible.servers} → ${visible.servers}${isAll}`),
    row('Tools', `${before.visible.tools} → ${visible.tools}`),
    ...(gained.length > 0 ? [row('It gains', gained.join(', '), 'warn')] : []),
    ...(more_tools.length > 0 ? [row('More tools of', more_tools.join(', '), 'warn')] : []),
    ...(lost.length > 0 ? [row('It loses', lost.join(', '))] : []),
  ]
}

/** `toolroom presets rm PRESET` */
export const removePreset: Run = async ({ api, given, confirm }) => {
  const name = await presetNamed(api, given.word('PRESET'))
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, name },
      lines: [`Would delete the preset ${name}. Nothing was changed (--dry-run).`],
    }
  await confirm(`Delete the preset ${name}?`)
  await api.delete('/api/presets/{name}', { path: { name } })
  return { json: { name, removed: true }, lines: [`Deleted the preset ${name}.`] }
}

async function presetNamed(api: Api, given: string): Promise<string> {
  const { items } = await api.get('/api/presets')
  const named = items.map(({ name }) => ({ id: name, name }))
  return findNamed(named, given, 'preset').name
}
