import { type AnyServer, type HttpServer, isStdio, type StdioServer, serverNamed } from '../run/any-server.ts'
import { type Answer, type Context, dryRun, type Run } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import type { Schemas } from '../run/service-client.ts'
import { isolationFlag, isolationGiven, isolationText } from './isolation.ts'

type Start = StdioServer['start_mode']

/** `toolroom edit SERVER --env NAME=VALUE ...` */
export const editServer: Run = async (context) => {
  const { api, given } = context
  const server = await serverNamed(api, given.word('SERVER'))
  const { id } = server
  const change: object = isStdio(server) ? stdioChange(server, context) : httpChange(server, context)
  if (Object.keys(change).length === 0) throw usage('Nothing to change', `See toolroom edit --help`)
  if (given.is('dry-run'))
    return dryRun(
      { id, change: masked(change) },
      changedFields(server, change).map((line) => `Would change ${line}`),
    )
  const path = { id }
  const changed: AnyServer = isStdio(server)
    ? await api.patch('/api/servers/{id}', { path, body: change })
    : await api.put('/api/http-servers/{id}', { path, body: change })
  return changedAnswer(server, changed, change)
}

function changedAnswer(before: AnyServer, changed: AnyServer, change: object): Answer {
  const isWaiting = isStdio(changed) && changed.restart_needed
  return {
    json: changed,
    lines: [
      ...changedFields(before, change).map((line) => `Changed ${line}`),
      ...(isStdio(changed) && ISOLATION_FIELDS.some((field) => field in change)
        ? isolationLines(changed, change)
        : []),
      ...(isWaiting ? [`${changed.name} still runs with the old definition.`] : []),
    ],
    next: isStdio(changed) ? `next: toolroom restart ${changed.id}` : `next: toolroom test ${changed.id}`,
  }
}

const ISOLATION_FIELDS = ['isolation', 'isolation_options']

function isolationLines(server: StdioServer, change: object): string[] {
  const { id, name, isolation } = server
  if (isolation === 'none' && 'isolation_options' in change)
    return [
      `${name} runs without isolation, so this has no effect until you run: toolroom edit ${id} --isolation sandbox`,
    ]
  return [`${name} runs ${isolationText(server)}.`]
}

/** Values that are not given stay: the mask means the stored one. */
function stdioChange(
  { env, tags, isolation_options }: StdioServer,
  { given }: Context,
): Schemas['ServerPatch'] {
  const refused = ['address', 'header'].find((flag) => given.all(flag).length > 0)
  if (refused) throw usage(`--${refused} is for servers at a URL`, null)
  const [command, ...args] = given.rest
  const isEnv = given.all('env').length > 0 || given.all('unset').length > 0
  const start = given.flag('start-mode') as Start | undefined
  return {
    ...common(given, tags),
    ...(command === undefined ? given.flags('command') : { command, args }),
    ...given.flags('package'),
    ...(isEnv && { env: merged(env, given.pairs('env'), given.all('unset')) }),
    ...given.flags('cwd'),
    ...(start !== undefined && { start_mode: start }),
    ...isolationGiven(given, isolation_options),
  }
}

function httpChange({ headers, tags }: HttpServer, { given }: Context): Schemas['HttpServerUpdate'] {
  const refused =
    ['command', 'package', 'env', 'cwd', 'start-mode'].find((flag) => given.all(flag).length > 0) ??
    isolationFlag(given)
  if (refused) throw usage(`--${refused} is for local servers`, null)
  const url = given.flag('address')
  const isHeader = given.all('header').length > 0 || given.all('unset').length > 0
  return {
    ...common(given, tags),
    ...(url !== undefined && { url }),
    ...(isHeader && { headers: merged(headers, given.pairs('header'), given.all('unset')) }),
  }
}

function common(given: Context['given'], tags: readonly string[]): { name?: string; tags?: string[] } {
  const wanted = new Set([...tags, ...given.all('tag')])
  for (const tag of given.all('untag')) wanted.delete(tag)
  const isTagged = given.all('tag').length > 0 || given.all('untag').length > 0
  return { ...given.flags('name'), ...(isTagged && { tags: [...wanted] }) }
}

const merged = (
  before: Readonly<Record<string, string>>,
  set: Readonly<Record<string, string>>,
  unset: readonly string[],
): Record<string, string> =>
  Object.fromEntries(Object.entries({ ...before, ...set }).filter(([key]) => !unset.includes(key)))

/** The names of what changes. Values may be secrets. */
function changedFields({ name }: AnyServer, change: object): string[] {
  return Object.entries(change).map(([field, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? `${field} of ${name}: ${Object.keys(value).join(', ') || 'none'}`
      : `${field} of ${name}`,
  )
}

/** For the JSON of a dry run: what may be secret is masked. */
function masked(change: object): object {
  const hidden = (map: object) => Object.fromEntries(Object.keys(map).map((key) => [key, '***']))
  return Object.fromEntries(
    Object.entries(change).map(([field, value]) =>
      field === 'env' || field === 'headers'
        ? [field, hidden(value)]
        : field === 'args' || field === 'url'
          ? [field, '***']
          : [field, value],
    ),
  )
}
