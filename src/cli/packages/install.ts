import { agentTypesNamed } from '../agents/find-agent.ts'
import { type Context, dryRun, type Run } from '../run/command-context.ts'
import { Failure, usage } from '../run/failure.ts'
import { bytes, counted, thousands } from '../run/human-readable.ts'
import { type Line, signed } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'
import { followJob } from './follow-job.ts'

type Installed = Schemas['InstalledPackage']

interface Enabled {
  readonly agent_type: string
  readonly ok: boolean
  readonly text: string
}

/** `toolroom install PACKAGE` */
export const installPackage: Run = async (context) => {
  const { api, given } = context
  const spec = given.word('PACKAGE')
  const agents = await agentTypesNamed(api, given.flag('enable-in')?.split(',') ?? [])
  const create_server = given.is('add')
  if (agents.length > 0 && !create_server) throw usage('--enable-in needs --add', null)
  const body = { ...splitSpec(spec), create_server, allow_scripts: given.is('allow-scripts') }
  if (given.is('dry-run'))
    return dryRun({ ...body, enable_in: agents }, [
      `Would install ${body.name} ${body.version ?? ''}`,
      ...(body.create_server ? ['Would add a server that runs from it'] : []),
      ...agents.map((agent) => `Would enable it in ${agent}`),
    ])
  const started = await api.post('/api/packages/install-npm', { query: { async: true }, body })
  const installed = await followJob<Installed>(context, started, `Installing ${spec}`)
  const enabled: Enabled[] = []
  const id = installed.server?.id
  if (id !== undefined) for (const agent of agents) enabled.push(await enabledIn(context, agent, id))
  const isPartly = enabled.some(({ ok }) => !ok) || (installed.server?.error ?? null) !== null
  return {
    json: { ...installed, enabled },
    lines: [
      ...installedLines(installed),
      ...(id === undefined || installed.server?.error ? [] : [await serverLine(context, id)]),
      ...enabled.map(({ agent_type, ok, text }) => signed(ok ? 'ok' : 'err', `${agent_type}  ${text}`)),
    ],
    plain: [[installed.id, installed.name, installed.version, id]],
    exit: isPartly ? 'partly_done' : undefined,
    next: id === undefined ? `next: toolroom add ${installed.name}` : `next: toolroom tools ${id}`,
  }
}

/** `@scope/name@1.2.0` → its name, and the version or tag. */
function splitSpec(spec: string): { name: string; version?: string } {
  const at = spec.indexOf('@', 1)
  if (at === -1) return { name: spec }
  const version = spec.slice(at + 1)
  if (version === '') throw usage(`'${spec}' has no version after @`, null)
  return { name: spec.slice(0, at), version }
}

function installedLines({ name, version, size_bytes, scripts_skipped, warnings, server }: Installed): Line[] {
  const scripts = scripts_skipped.join(', ')
  const skipped = signed('warn', `Install scripts were skipped (${scripts}). Allow them with --allow-scripts`)
  return [
    signed('ok', `${name} ${version}, ${bytes(size_bytes)}`),
    ...(scripts_skipped.length === 0 ? [] : [skipped]),
    ...warnings.map((warning) => signed('warn', warning)),
    ...(server?.error ? [signed('err', `${server.id}  ${server.error}`)] : []),
  ]
}

async function serverLine({ api }: Context, id: string): Promise<Line> {
  const { status, tool_count, tool_tokens } = await api.get('/api/servers/{id}', { path: { id } })
  const tools =
    tool_count === null
      ? ''
      : `, ${counted(tool_count, 'tool')}, about ${thousands(tool_tokens) ?? '?'} tokens`
  return signed('ok', `${id}  ${status}${tools}`)
}

async function enabledIn({ api }: Context, agent_type: string, id: string): Promise<Enabled> {
  try {
    const body = { server_ids: [id], enable: true }
    const { reload_hint } = await api.put('/api/agents/{agent_type}/servers', { path: { agent_type }, body })
    return {
      agent_type,
      ok: true,
      text: reload_hint === null ? 'enabled' : `enabled. Reload: ${reload_hint}`,
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { agent_type, ok: false, text: error.message }
  }
}
