import type { Context, Run } from '../run/context.ts'
import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import type { Schemas } from '../run/service-client.ts'
import { allServers } from '../servers/any-server.ts'
import { agentNamed } from './agent-named.ts'

/** `toolroom presets save PRESET --from AGENT`, or `--servers LIST` */
export const savePreset: Run = async (context) => {
  const { api, given } = context
  const name = given.word('PRESET')
  const body = await choiceOf(context)
  const what = body.servers === null || body.servers === undefined ? 'all servers' : body.servers.join(', ')
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, name, ...body },
      lines: [`Would save ${name}: ${what}`, 'Nothing was changed (--dry-run).'],
    }
  const preset = await api.put('/api/presets/{name}', { path: { name }, body })
  return {
    json: preset,
    lines: [`Saved ${name}: ${what}`],
    next: `next: toolroom presets apply ${name} AGENT`,
  }
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
