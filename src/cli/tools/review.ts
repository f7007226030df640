import { type AnyServer, isStdio, routeOf, serverNamed } from '../run/any-server.ts'
import type { Answer, Context, Run } from '../run/command-context.ts'
import { counted } from '../run/human-readable.ts'
import { type Line, type Span, toned } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import { type Tool, toolNamed, toolsOf } from './tools.ts'

type Prompt = Schemas['Prompt']
type Instructions = Schemas['Instructions']

/** What a server offers that is new or has changed. */
interface Changed {
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly instructions: Instructions | null
}

/** `toolroom review SERVER [TOOL...] [--approve]` */
export const reviewChanges: Run = async (context) => {
  const { api, given } = context
  const server = await serverNamed(api, given.word('SERVER'))
  const changed = await changesOf(api, server, given.words('TOOL'))
  const isDry = given.is('dry-run')
  const isApproved = given.is('approve') && !isDry
  if (isApproved) await context.during(`Approving changes of ${server.id}`, approve(context, server, changed))
  return reviewAnswer(server, changed, isApproved, isDry)
}

/** With names of tools, only those tools. */
async function changesOf(api: Api, server: AnyServer, names: readonly string[]): Promise<Changed> {
  const needsReview = ({ state, change }: Pick<Tool, 'state' | 'change'>) =>
    state === 'held' || change !== null
  const all = await toolsOf(api, server)
  const chosen = names.map((name) => toolNamed(all, name, server.id))
  const tools = (chosen.length > 0 ? chosen : all).filter(needsReview)
  if (chosen.length > 0) return { tools, prompts: [], instructions: null }
  const path = { id: server.id }
  const route = routeOf(server)
  const [{ items }, instructions] = await Promise.all([
    api.get(`${route}/prompts`, { path }),
    api.get(`${route}/instructions`, { path }),
  ])
  return {
    tools,
    prompts: items.filter(needsReview),
    instructions: needsReview(instructions) ? instructions : null,
  }
}

async function approve({ service }: Context, server: AnyServer, changed: Changed): Promise<void> {
  const kind = isStdio(server) ? 'servers' : 'http-servers'
  const { tools, prompts, instructions } = changed
  const hashes: [part: string, hash: string | null][] = [
    ...tools.map(({ name, hash }): [string, string] => [`tools/${encodeURIComponent(name)}`, hash]),
    ...prompts.map(({ name, hash }): [string, string] => [`prompts/${encodeURIComponent(name)}`, hash]),
    ...(instructions ? [['instructions', instructions.hash] as [string, string | null]] : []),
  ]
  for (const [part, hash] of hashes)
    await service.request('POST', `/api/${kind}/${server.id}/${part}/approve`, { hash })
}

function reviewAnswer({ id }: AnyServer, changed: Changed, isApproved: boolean, isDry: boolean): Answer {
  const { tools, prompts, instructions } = changed
  const json = {
    server_id: id,
    approved: isApproved,
    items: tools,
    prompts,
    instructions,
    ...(isDry && { dry_run: true }),
  }
  const parts: [label: string, Pick<Tool, 'state' | 'change'>][] = [
    ...tools.map((tool): [string, Tool] => [tool.name, tool]),
    ...prompts.map((prompt): [string, Prompt] => [`prompt ${prompt.name}`, prompt]),
    ...(instructions ? [['instructions', instructions] as [string, Instructions]] : []),
  ]
  if (parts.length === 0) return { json, lines: [`Nothing of ${id} is new or changed.`], plain: [] }
  const count = [
    ...(tools.length > 0 ? [counted(tools.length, 'tool')] : []),
    ...(prompts.length > 0 ? [counted(prompts.length, 'prompt')] : []),
    ...(instructions ? ['the instructions'] : []),
  ].join(', ')
  return {
    json,
    lines: [
      ...parts.flatMap(([label, part]) => changeLines(label, part)),
      isApproved
        ? `Approved ${count}.`
        : `${count} to review.${isDry ? ' Nothing was changed (--dry-run).' : ''}`,
    ],
    plain: parts.map(([label, { state, change }]) => [label, state, change?.since]),
    next: isApproved ? `next: toolroom tools ${id}` : `next: toolroom review ${id} --approve`,
  }
}

/** What changed, word by word. */
function changeLines(label: string, { state, change }: Pick<Tool, 'state' | 'change'>): Line[] {
  return [
    [toned('warn', '▲ '), `${label}  ${state === 'held' ? 'held: agents do not see it' : 'changed'}`],
    ...(change?.diffs ?? []).map(
      ({ field, words }): Line => [
        `    ${field.replace(/^\//, '')}: `,
        ...words.map(
          ({ op, text }): Span =>
            op === 'added'
              ? toned('ok', `{+${text}+}`)
              : op === 'removed'
                ? toned('err', `[-${text}-]`)
                : text,
        ),
      ],
    ),
  ]
}
