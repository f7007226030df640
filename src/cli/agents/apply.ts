import type { Run } from '../run/context.ts'
import { findNamed } from '../run/find-named.ts'
import { counted, thousands } from '../run/units.ts'
import { agentNamed } from './agent-named.ts'

/** `toolroom agents apply AGENT PRESET`, and `toolroom presets apply PRESET AGENT` */
export const applyPreset: Run = async ({ api, given }) => {
  const { agent_type } = await agentNamed(api, given.word('AGENT'))
  const { items } = await api.get('/api/presets')
  const named = items.map(({ name }) => ({ id: name, name }))
  const { name: preset } = findNamed(named, given.word('PRESET'), 'preset')
  const dry_run = given.is('dry-run')
  const report = await api.post('/api/agents/{agent_type}/apply', {
    path: { agent_type },
    body: { preset, dry_run },
  })
  const { visible, warnings } = report
  const shown = `${counted(visible.servers, 'server')}, ${counted(visible.tools, 'tool')}, about ${thousands(visible.tokens)} tokens`
  return {
    json: report,
    lines: [
      `${agent_type} ${dry_run ? 'would get' : 'gets'} ${preset}: ${shown}`,
      ...warnings.map((warning) => `! ${warning}`),
      ...(dry_run ? ['Nothing was changed (--dry-run).'] : []),
    ],
    next: dry_run ? undefined : `next: toolroom agents show ${agent_type}`,
  }
}
