import { valueText } from '../agents/file-change-lines.ts'
import { installAtLogin, stateAtLogin } from '../autostart/autostart.ts'
import type { Context } from '../run/command-context.ts'
import { shortPath } from '../run/human-readable.ts'
import { type Line, signed, toned } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import type { Allowed } from '../servers/allow.ts'
import { agentsWithGateway, connectedAgents, namesOf } from '../service/starting-agents.ts'

export type ImportItem = Schemas['AgentImportReport']['items'][number]
export type FileChange = Schemas['AgentChangeReport']

/** What `init` is going to do. */
export interface Choice {
  /** The servers to import. Undefined: all that were found, except those that their agent has not approved or has off. */
  readonly items: readonly ImportItem[] | undefined
  readonly moveSecrets: boolean
  /** What a person allows these servers to get. */
  readonly allow: Allowed
  readonly agents: readonly string[]
  /** They keep an entry for each server, under its old name. */
  readonly keepNames: boolean
  /** The service manager starts Toolroom at every login. */
  readonly atLogin: boolean
}

/** What `import` would do: all servers in the files of agents. */
export const importable = async (api: Api): Promise<ImportItem[]> =>
  (await api.post('/api/agents/import', { body: { dry_run: true } })).items

/** Imports the chosen servers, or says what an import would do. */
export async function importServers(api: Api, { items, moveSecrets, allow }: Choice, dry_run: boolean) {
  const chosen = await chosenItems(api, { items })
  if (chosen.length === 0) return []
  const entries = chosen.flatMap(({ found_in }) => found_in)
  const body = { dry_run, move_secrets: moveSecrets, entries, allow_outgoing: allow }
  return (await api.post('/api/agents/import', { body })).items
}

/** The servers that would be imported. */
export const chosenItems = async (
  api: Api,
  { items }: Pick<Choice, 'items'>,
): Promise<readonly ImportItem[]> => items ?? (await importable(api)).filter(isUsual)

/** The servers that were not chosen and are not imported by themselves. */
export async function leftOutLines(api: Api, { items }: Choice): Promise<Line[]> {
  if (items) return []
  return (await importable(api))
    .filter((item) => !isUsual(item) && item.outcome === 'created')
    .map((item) => {
      const { name, found_in } = item
      const project = found_in[0]?.project
      const where = project ? ` of ${shortPath(project)}` : ''
      return signed(
        'dim',
        `${name}${where}  is left out: it is ${whyUnusual(item)}. To import it: toolroom init --import ${name}`,
      )
    })
}

/** Others are imported only if they are named. */
export const isUsual = ({ approved, enabled }: ImportItem): boolean => approved && enabled

export function whyUnusual({ approved, found_in }: ImportItem): string {
  const agents = [...new Set(found_in.map(({ agent_type }) => agent_type))].join(', ') || 'its agent'
  return approved ? `off in ${agents}` : `not approved in ${agents}`
}

/** Other servers of the same name: they stay apart, because these values differ. */
export const variantLines = ({ found_in: [source], variants }: ImportItem): Line[] =>
  variants.flatMap(({ agent_type, values }) => [
    [toned('dim', `    of ${source?.agent_type ?? ''}; another one of ${agent_type}:`)],
    ...values.map((value): Line => [toned('dim', `      ${valueText(value)}`)]),
  ])

/** Each agent gets one entry for the servers that it had. Its own entries of them are kept by Toolroom. */
export async function connectAgents(
  api: Api,
  { agents, keepNames }: Choice,
  dry_run: boolean,
): Promise<FileChange[]> {
  const reports: FileChange[] = []
  for (const agent_type of agents)
    reports.push(
      await api.post('/api/agents/{agent_type}/connect', {
        path: { agent_type },
        body: { take_over: true, dry_run, ...(keepNames && { keep_names: true }) },
      }),
    )
  return reports
}

/** What happens at a login, and to agents while Toolroom is not running. */
export async function loginLines(
  { config, mainFile }: Pick<Context, 'config' | 'mainFile'>,
  api: Api,
  { atLogin }: Pick<Choice, 'atLogin'>,
): Promise<{ readonly starts_at_login: boolean; readonly lines: Line[]; readonly isRefused: boolean }> {
  let { file, starts_at_login, problem } = await stateAtLogin(config)
  if (atLogin && problem === null)
    try {
      await installAtLogin(config, mainFile)
      starts_at_login = true
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error)
    }
  if (starts_at_login)
    return { starts_at_login, isRefused: false, lines: [signed('ok', `starts at every login  ${file}`)] }
  const isRefused = atLogin && problem !== null
  const { starting, cutOff } = connectedAgents(await agentsWithGateway(api), config, mainFile)
  const [start, their] = starting.length === 1 ? ['starts', 'its'] : ['start', 'their']
  const [lose, own] = cutOff.length === 1 ? ['loses', 'its'] : ['lose', 'their']
  const offer = problem === null ? '. To start it at every login: toolroom service install' : ''
  return {
    starts_at_login,
    isRefused,
    lines: [
      ...(isRefused ? [signed('warn', `Toolroom does not start at login: ${problem}`)] : []),
      ...(starting.length > 0
        ? [`When Toolroom is not running, ${namesOf(starting)} ${start} it with ${their} first call.`]
        : []),
      ...(cutOff.length > 0
        ? [`When Toolroom is not running, ${namesOf(cutOff)} ${lose} ${own} tools until toolroom up${offer}`]
        : []),
    ],
  }
}
