import type { Answer, Context, Run } from '../frame/context.ts'
import { type Line, type Span, toned } from '../output/line.ts'
import { counted } from '../output/units.ts'
import { isStdio, serverNamed } from '../servers/all-servers.ts'
import type { AnyServer } from '../servers/state.ts'
import { type Tool, toolNamed, toolsOf } from './tools-of.ts'

/** `toolroom review SERVER [TOOL...] [--approve]` */
export const run: Run = async (context) => {
  const { api, given } = context
  const server = await serverNamed(api, given.word('SERVER'))
  const tools = await toolsOf(api, server)
  const chosen = given.words('TOOL').map((word) => toolNamed(tools, word, server.id))
  const changed = (chosen.length > 0 ? chosen : tools).filter(
    ({ state, change }) => state === 'held' || change,
  )
  const isDry = given.is('dry-run')
  if (given.is('approve') && !isDry) await approve(context, server, changed)
  return answerOf(server, changed, given.is('approve') && !isDry, isDry)
}

async function approve({ api, during }: Context, server: AnyServer, tools: readonly Tool[]): Promise<void> {
  for (const { name, hash } of tools) {
    const given = { path: { id: server.id, tool: name }, body: { hash } }
    await during(
      `Approving ${name}`,
      isStdio(server)
        ? api.post('/api/servers/{id}/tools/{tool}/approve', given)
        : api.post('/api/http-servers/{id}/tools/{tool}/approve', given),
    )
  }
}

function answerOf({ id }: AnyServer, changed: readonly Tool[], isApproved: boolean, isDry: boolean): Answer {
  const json = { server_id: id, approved: isApproved, items: changed, ...(isDry && { dry_run: true }) }
  if (changed.length === 0) return { json, lines: [`No tool of ${id} is new or changed.`], plain: [] }
  return {
    json,
    lines: [
      ...changed.flatMap(linesOf),
      isApproved
        ? `Approved ${counted(changed.length, 'tool')}.`
        : `${counted(changed.length, 'tool')} to review.${isDry ? ' Nothing was changed (--dry-run).' : ''}`,
    ],
    plain: changed.map(({ name, state, change }) => [name, state, change?.since]),
    next: isApproved ? `next: toolroom tools ${id}` : `next: toolroom review ${id} --approve`,
  }
}

/** What changed, word by word. */
function linesOf({ name, state, change }: Tool): Line[] {
  const head: Line = [
    toned('warn', '▲ '),
    `${name}  ${state === 'held' ? 'held: agents do not see it' : 'changed'}`,
  ]
  return [
    head,
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
