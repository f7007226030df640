import { diffLines, writtenLines } from '../agents/file-change-lines.ts'
import { stateAtLogin } from '../autostart/autostart.ts'
import { canAsk } from '../run/ask-on-terminal.ts'
import type { Answer, Context, Run } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { type Line, signed } from '../run/printed-line.ts'
import type { Api } from '../run/service-client.ts'
import { outgoingLines } from '../servers/allow.ts'
import { withReadingApi } from '../service/service-on-demand.ts'
import { findAll } from './found-agents.ts'
import { choiceOfFlags } from './init-choice.ts'
import {
  connectAgents,
  type ImportItem,
  importServers,
  leftOutLines,
  loginLines,
  variantLines,
} from './init-steps.ts'

/** `toolroom init`: finds agents, imports their servers, and connects the chosen agents to the gateway. */
export const init: Run = async (context) => {
  const { given, during, config, mainFile } = context
  if (given.is('dry-run')) return withReadingApi(context, (api) => plan(context, api))
  const asked = given.is('yes') ? undefined : await askedChoice(context)
  const { startDetached } = await import('../service/start-detached.ts')
  const { address } = await during('Starting Toolroom', startDetached(config, mainFile))
  const { api } = context
  const found = await findAll(api, context.terminal.width, false)
  if (!asked) for (const line of found.lines) context.note(line)
  const choice = asked ?? (await choiceOfFlags(api, context))
  const leftOut = await leftOutLines(api, choice)
  const imported = await during('Importing', importServers(api, choice, false))
  const connected = await during('Writing', connectAgents(api, choice, false))
  const login = await during('Starting at login', loginLines(context, api, choice))
  const { starts_at_login } = login
  return {
    json: { dry_run: false, address, scan: found.scan, imported, connected, starts_at_login },
    lines: [
      ...importLines(imported, false, context.terminal.width),
      ...leftOut,
      ...writtenLines(connected),
      `Toolroom runs at ${address}`,
      ...login.lines,
    ],
    exit: login.isRefused ? 'partly_done' : undefined,
    plain: [
      ...imported.map(({ name, outcome }) => [name, outcome]),
      ...connected.map(({ agent_type, path }) => [agent_type, path]),
    ],
    next:
      found.scan.entries === 0
        ? 'next: toolroom add sample, or toolroom open'
        : connected.length > 0
          ? 'next: toolroom ls    undo: toolroom agents restore AGENT'
          : 'next: toolroom open, or toolroom agents connect AGENT',
  }
}

async function askedChoice(context: Context) {
  if (!canAsk())
    throw usage(
      'There is no terminal to ask on',
      'Add --yes, which imports all servers and connects no agent unless --import NAMES, --move-secrets and --connect AGENTS say otherwise, or --dry-run',
    )
  return (await import('./init-questions.ts')).askForChoice(context)
}

/** What would happen. Reads only. */
async function plan(context: Context, api: Api): Promise<Answer> {
  const { config, terminal } = context
  const { scan, lines } = await findAll(api, terminal.width, false)
  const choice = await choiceOfFlags(api, context)
  const leftOut = await leftOutLines(api, choice)
  const imported = await importServers(api, choice, true)
  const connected = await connectAgents(api, choice, true)
  const { file, problem } = choice.atLogin ? await stateAtLogin(config) : { file: null, problem: null }
  return {
    json: { dry_run: true, address: null, scan, imported, connected },
    lines: [
      ...lines,
      ...importLines(imported, true, terminal.width),
      ...leftOut,
      ...connected.flatMap(diffLines),
      ...(choice.atLogin ? [problem ?? `Would write ${file}: Toolroom starts at every login`] : []),
      'Nothing was changed (--dry-run).',
    ],
    plain: imported.map(({ name, outcome }) => [name, outcome]),
  }
}

const importLines = (items: readonly ImportItem[], isDry: boolean, width: number | undefined): Line[] =>
  items.flatMap((item): Line[] => {
    const { name, server_id, outcome, reason, command, args, url, outgoing, enabled, approved } = item
    const runs = url ?? [command ?? '', ...args].join(' ')
    if (outcome === 'refused') return [signed('warn', `${name}  was not imported. ${reason ?? ''}`)]
    if (outcome === 'created')
      return [
        signed(
          'ok',
          `${isDry ? 'would import' : 'imported'} ${server_id ?? name}  ${runs}${enabled || !approved ? '' : `  (off, as in its agent)`}`,
        ),
        ...outgoingLines(outgoing, server_id ?? name, width),
        ...(approved || enabled ? [] : ['  note   Its agent has not approved it, so it is off']),
        ...variantLines(item),
      ]
    return [signed('dim', `${server_id ?? name}  is registered already`)]
  })
