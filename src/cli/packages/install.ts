import { forAgents, offeredTo } from '../agents/enable-disable.ts'
import { ask, canAsk, isYes } from '../run/ask-on-terminal.ts'
import { type Context, dryRun, type Run } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { followJob } from '../run/follow-job.ts'
import { bytes, counted, thousands } from '../run/human-readable.ts'
import { type Line, signed } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'

type Installed = Schemas['InstalledPackage']

/** `toolroom install PACKAGE` */
export const installPackage: Run = async (context) => {
  const { api, given } = context
  const spec = given.word('PACKAGE')
  const create_server = given.is('add')
  if (given.flag('agents') !== undefined && !create_server) throw usage('--agents needs --add', null)
  const agents = await forAgents(context)
  const body = {
    ...splitSpec(spec),
    create_server,
    allow_scripts: given.is('allow-scripts'),
    ...agents.body,
  }
  if (given.is('dry-run'))
    return dryRun(body, [
      `Would install ${body.name} ${body.version ?? ''}`,
      ...(body.create_server ? ['Would add a server that runs from it'] : []),
      ...(body.agents ? [`Agents that would see it: ${[body.agents].flat().join(' ') || 'none'}`] : []),
    ])
  const started = await api.post('/api/packages/install-npm', { query: { async: true }, body })
  const installed = await followJob<Installed>(context, started, `Installing ${spec}`)
  const id = installed.server?.id
  const offered = id === undefined ? undefined : await offeredTo(context, agents, id)
  const { enabled = [], used_by_agents = [] } = offered ?? {}
  const converted = await convertNpxServers(context, installed)
  const isPartly = enabled.some(({ error }) => error) || (installed.server?.error ?? null) !== null
  return {
    json: { ...installed, enabled, used_by_agents, converted },
    lines: [
      ...installedLines(installed),
      ...(id === undefined || installed.server?.error ? [] : [await serverLine(context, id)]),
      ...(offered?.lines ?? []),
      ...installed.npx_servers.map((npx) => npxLine(npx, installed.name, converted.includes(npx))),
    ],
    plain: [[installed.id, installed.name, installed.version, id]],
    exit: isPartly ? 'partly_done' : undefined,
    next: id === undefined ? `next: toolroom add ${installed.name}` : `next: toolroom tools ${id}`,
  }
}

/** Asks for each server that starts the package with npx. Returns the ids of those that run the installed one now. */
async function convertNpxServers(
  { api, given }: Context,
  { name, npx_servers }: Installed,
): Promise<readonly string[]> {
  const converted: string[] = []
  for (const id of npx_servers) {
    const isAsked = !given.is('convert') && !given.is('json') && canAsk()
    const question = `${id} downloads ${name} with npx at each start. Run the installed one instead? [y/N] `
    if (!given.is('convert') && !(isAsked && isYes((await ask(question)) ?? ''))) continue
    await api.patch('/api/servers/{id}', { path: { id }, body: { package: name } })
    converted.push(id)
  }
  return converted
}

const npxLine = (id: string, name: string, isConverted: boolean): Line =>
  isConverted
    ? signed('ok', `${id}  runs the installed package now`)
    : signed(
        'dim',
        `${id}  starts it with npx. To run the installed one: toolroom edit ${id} --package ${name}`,
      )

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
