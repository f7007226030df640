import { type Answer, type Context, dryRun, type Run } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { shortPath } from '../run/human-readable.ts'
import type { Line } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'
import { withOwnService } from '../service/service-on-demand.ts'
import { diffLines, type FileChange, writtenLines } from './file-change-lines.ts'
import { agentNamed, agentsOf } from './find-agent.ts'

/** `toolroom agents connect AGENT` */
export const connectAgent: Run = async (context) => {
  const { api, given } = context
  const { agent_type, name } = await agentNamed(api, given.word('AGENT'))
  for (const other of ['keep', 'all'] as const)
    if (given.is('keep-names') && given.is(other))
      throw usage(
        `--keep-names and --${other} exclude each other`,
        'An entry for each server leads to those that it had',
      )
  const options = {
    take_over: !given.is('keep'),
    bridge: given.is('bridge'),
    create: given.is('create'),
    ...(given.is('all') && { servers: 'all' as const }),
    ...(given.is('keep-names') && { keep_names: true }),
  }
  return writeFiles(context, {
    question: `Connect ${name} to the gateway`,
    change: async (dry_run, shown) => [
      await api.post('/api/agents/{agent_type}/connect', {
        path: { agent_type },
        body: { ...options, dry_run, ...asShown(shown?.[0]) },
      }),
    ],
    next: `next: toolroom agents show ${agent_type}    undo: toolroom agents disconnect ${agent_type}`,
  })
}

/** `toolroom agents disconnect AGENT|--all`, also without a service. */
export const disconnectAgent: Run = async (context) => {
  const word = context.given.wordIfAny('AGENT')
  if ((word === undefined) === !context.given.is('all'))
    throw usage('Name an agent, or give --all', 'For example: toolroom agents disconnect cursor')
  return withOwnService(context, async (api) => {
    const chosen =
      word === undefined
        ? (await agentsOf(api)).filter(({ connected_via }) => connected_via === 'gateway')
        : [await agentNamed(api, word)]
    const [first, ...others] = chosen
    if (!first)
      return { json: { dry_run: context.given.is('dry-run'), items: [] }, lines: ['No agent is connected.'] }
    const names = others.length === 0 ? first.name : chosen.map(({ name }) => name).join(', ')
    const [them, their] = others.length === 0 ? ['it', 'its'] : ['them', 'their']
    return writeFiles(context, {
      question: `Disconnect ${names} from the gateway, and give ${them} ${their} own entries back`,
      change: async (dry_run, shown) => {
        const reports = []
        for (const [at, { agent_type }] of chosen.entries())
          reports.push(
            await api.post('/api/agents/{agent_type}/disconnect', {
              path: { agent_type },
              body: { dry_run, ...asShown(shown?.[at]) },
            }),
          )
        return reports
      },
    })
  })
}

/** `toolroom agents restore AGENT`: everything that Toolroom wrote leaves the agent's files. */
export const restoreAgent: Run = async (context) => {
  const { api, given } = context
  const { agent_type, name } = await agentNamed(api, given.word('AGENT'))
  return writeFiles(context, {
    question: `Remove everything that Toolroom wrote for ${name}`,
    change: async (dry_run) =>
      (await api.post('/api/backups/restore', { body: { agent_type, dry_run } })).items,
  })
}

export type Keep = Schemas['DriftInput']['keep']

/** `toolroom agents diff AGENT --keep toolroom|file`, where another program has changed what Toolroom wrote. */
export async function keepVersion(context: Context, agent_type: string, keep: Keep): Promise<Answer> {
  const { api, given, confirm } = context
  const change = async (dry_run: boolean, shown?: readonly FileChange[]) => {
    const files = shown?.map(({ path, base_revision = null }) => ({ path, revision: base_revision }))
    const body = { keep, dry_run, ...(files && { files }) }
    return (await api.post('/api/agents/{agent_type}/drift', { path: { agent_type }, body })).items
  }
  if (keep === 'toolroom')
    return writeFiles(context, { question: `Write what Toolroom wrote for ${agent_type} again`, change })
  const linesOf = (verb: string, items: Awaited<ReturnType<typeof change>>): Line[] =>
    items.flatMap(({ path, accepted, warnings }) => [
      `${shortPath(path)}: ${accepted.join(', ')} ${verb} as in the file`,
      ...warnings.map((warning) => `! ${warning}`),
    ])
  const shown = await change(true)
  const planned = linesOf('would stay', shown)
  if (given.is('dry-run')) return dryRun({ keep }, planned)
  if (!given.is('yes')) for (const line of planned) context.note(line)
  await confirm(`Leave the entries of ${agent_type} as they are in the file?`)
  const items = await change(false, shown)
  return { json: { dry_run: false, keep, items }, lines: linesOf('stays', items) }
}

/** What was edited since it was shown is not overwritten. */
const asShown = (file: FileChange | undefined) =>
  file?.base_revision ? { revision: file.base_revision } : {}

interface Writing {
  /** A verb and its object: `Connect cursor`. */
  readonly question: string
  /** `shown`: what the dry run has returned. A file that has changed since is not written. */
  readonly change: (isDry: boolean, shown?: readonly FileChange[]) => Promise<readonly FileChange[]>
  readonly next?: string
}

/** Shows the diff, asks, and writes. Every write leaves a backup. */
async function writeFiles(context: Context, { question, change, next }: Writing): Promise<Answer> {
  const { given, note, confirm, during } = context
  const planned = await during('Reading the files', change(true))
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, items: planned },
      lines: [...planned.flatMap(diffLines), 'Nothing was written (--dry-run).'],
    }
  if (planned.some(({ changed }) => changed)) {
    if (!given.is('yes')) for (const line of planned.flatMap(diffLines)) note(line)
    await confirm(`${question}?`)
  }
  const items = await during('Writing', change(false, planned))
  return { json: { dry_run: false, items }, lines: writtenLines(items), next }
}
