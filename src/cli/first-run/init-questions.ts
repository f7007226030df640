import { diffLines } from '../agents/file-change-lines.ts'
import { agentsOf } from '../agents/find-agent.ts'
import { stateAtLogin } from '../autostart/autostart.ts'
import { ask, isYes } from '../run/ask-on-terminal.ts'
import type { Context } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { counted, shortPath } from '../run/human-readable.ts'
import type { Line } from '../run/printed-line.ts'
import { findAddress } from '../run/service-address.ts'
import type { Api } from '../run/service-client.ts'
import { allowedBy } from '../servers/allow.ts'
import { withTemporaryApi } from '../service/service-on-demand.ts'
import { findAll } from './found-agents.ts'
import { agentTypesIn, itemsIn, wordsOf } from './init-choice.ts'
import {
  type Choice,
  connectAgents,
  type FileChange,
  type ImportItem,
  importable,
  importServers,
  isUsual,
  variantLines,
  whyUnusual,
} from './init-steps.ts'

/**
 * Asks what the flags do not say. Everything is planned in a temporary service, so that nothing has changed when the user
 * ends it with Ctrl-C or a no.
 */
export const askForChoice = (context: Context): Promise<Choice> =>
  withTemporaryApi(context, async (temporary, at) => {
    const { config, given, note } = context
    const address = findAddress(config.folders.data)
    const api = address === undefined ? temporary : context.api
    for (const line of (await findAll(api, context.terminal.width)).lines) note(line)
    const items = await importable(api)
    const fresh = items.filter(({ outcome }) => outcome === 'created')
    const flagged = given.flag('import')
    const chosen =
      flagged === undefined ? await pickServers(context, fresh) : (itemsIn(items, flagged) ?? fresh)
    const moveSecrets = given.is('move-secrets') || (await askForSecrets(chosen))
    const allow = await allowedBy(context, chosen)
    const installed = (await agentsOf(api)).filter((agent) => agent.installed)
    const agents =
      given.flag('connect') === undefined
        ? (
            await pick(context, 'Connect which agents to the gateway?', installed, 'none', (agent) => [
              agent.agent_type,
              agent.connected_via === 'gateway' ? 'connected already' : agent.name,
            ])
          ).map(({ agent_type }) => agent_type)
        : agentTypesIn(await agentsOf(api), given.flag('connect'))
    const keepNames = given.is('keep-names')
    const atLogin = given.is('at-login') || (agents.length > 0 && (await askForLogin(context)))
    const choice = { items: chosen, moveSecrets, allow, agents, keepNames, atLogin }
    const known = items.filter(({ outcome }) => outcome === 'registered')
    const changes = await plannedChanges(temporary, choice, known)
    const real = address ?? `http://127.0.0.1:${config.port === 0 ? 'PORT' : config.port}`
    const shown = (text: string) =>
      text.replaceAll(at.address, real).replaceAll(at.folder, config.folders.data)
    for (const change of changes)
      for (const line of diffLines({ ...change, diff: shown(change.diff) })) note(line)
    const parts = partsOf(choice, changes)
    if (address === undefined || parts.length > 0)
      await context.confirm(questionOf(address === undefined, parts))
    return choice
  })

/** The servers of the choice are imported first, because the gateway replaces the entries of servers that it offers. */
async function plannedChanges(
  temporary: Api,
  choice: Choice,
  known: readonly ImportItem[],
): Promise<FileChange[]> {
  if (choice.agents.length === 0) return []
  await importServers(temporary, { ...choice, items: [...(choice.items ?? []), ...known] }, false)
  return connectAgents(temporary, choice, true)
}

function partsOf({ items = [], atLogin }: Choice, changes: readonly FileChange[]): string[] {
  const files = changes.filter(({ changed }) => changed).length
  return [
    ...(items.length === 0 ? [] : [`import ${counted(items.length, 'server')}`]),
    ...(files === 0 ? [] : [`write ${counted(files, 'file')}`]),
    ...(atLogin ? ['start it at every login'] : []),
  ]
}

function questionOf(startsIt: boolean, parts: readonly string[]): string {
  const all = [...(startsIt ? ['start Toolroom in the background'] : []), ...parts].join(', ')
  return `${all.charAt(0).toUpperCase()}${all.slice(1)}?`
}

/** Those that their agent has not approved, or has off, are not part of the default. */
async function pickServers(context: Context, fresh: readonly ImportItem[]): Promise<ImportItem[]> {
  const usual = fresh.every(isUsual)
    ? 'all'
    : fresh.flatMap((item) => (isUsual(item) ? [item.name] : [])).join(',') || 'none'
  return pick(context, 'Import which servers?', fresh, usual, (item) => [
    item.name,
    shownAs(item),
    variantLines(item),
  ])
}

function shownAs(item: ImportItem): string {
  const { url, command, args, approved } = item
  const words = url ?? [command ?? '', ...args].join(' ')
  return isUsual(item) ? words : `${words}  (${approved ? '' : 'of a project; '}${whyUnusual(item)})`
}

async function askForSecrets(chosen: readonly ImportItem[]): Promise<boolean> {
  const count = chosen.reduce((sum, { plain_secrets }) => sum + plain_secrets.length, 0)
  if (count === 0) return false
  const found = count === 1 ? '1 secret' : `${count} secrets`
  return isYes(
    await answerTo(`Copy ${found} in plain text to Toolroom's store? The files keep theirs. [y/N] `),
  )
}

/** Not asked where it is not possible, or done already. */
async function askForLogin({ config }: Context): Promise<boolean> {
  const { problem, starts_at_login, file } = await stateAtLogin(config)
  if (problem !== null || starts_at_login) return false
  return isYes(await answerTo(`Start Toolroom at every login? It writes ${shortPath(file ?? '')} [y/N] `))
}

/** A numbered list. The answer is numbers, names, `all` or `none`; Enter means `usual`. */
async function pick<T>(
  { note }: Context,
  question: string,
  items: readonly T[],
  usual: string,
  columnsOf: (item: T) => readonly [name: string, more: string, below?: readonly Line[]],
): Promise<T[]> {
  if (items.length === 0) return []
  const rows = items.map(columnsOf)
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [at, [name, more, below = []]] of rows.entries()) {
    note([`  ${String(at + 1).padStart(2)}  ${name.padEnd(width)}  ${more}`])
    for (const line of below) note(line)
  }
  const names = rows.map(([name]) => name)
  for (;;) {
    const answer = (await answerTo(`${question} Numbers, all or none [${usual}]: `)).trim() || usual
    if (answer === 'all') return [...items]
    if (answer === 'none') return []
    const words = wordsOf(answer)
    const chosen = words.map((word) => items[names.includes(word) ? names.indexOf(word) : Number(word) - 1])
    const unknown = words.find((_, at) => chosen[at] === undefined)
    if (unknown === undefined) return [...new Set(chosen.flatMap((item) => item ?? []))]
    note(`'${unknown}' is not in the list.`)
  }
}

async function answerTo(question: string): Promise<string> {
  const answer = await ask(question)
  if (answer === undefined) throw new Failure('failed', 'Nothing was changed', null, 'cancelled')
  return answer
}
