import { routeOf, serverNamed } from '../run/any-server.ts'
import { canAsk, isYes, ask as typedAnswer } from '../run/ask-on-terminal.ts'
import { hanging } from '../run/columns.ts'
import { type Answer, type Context, dryRun, type Run } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { counted } from '../run/human-readable.ts'
import { type Line, signed } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'

/** What a server gets of Toolroom's variables and secrets, and what a person allows of it. */

export type Outgoing = Schemas['Outgoing']
export type Allowed = Schemas['AllowedOutgoing'][]

/** `${env:API_KEY} in header Authorization to mcp.example.com` */
const sentenceOf = ({ reference, to, host, program }: Outgoing): string =>
  `${reference} in ${to} to ${host ?? program ?? ''}`

const heldIn = (outgoing: readonly Outgoing[]): Outgoing[] => outgoing.filter(({ allowed }) => !allowed)

/** One line for each value, and what to do about those that are not allowed. On a terminal, none is cut. */
export function outgoingLines(outgoing: readonly Outgoing[], id: string, width?: number): string[] {
  const words = (text: string) =>
    width === undefined ? text : text.replace(new RegExp(`\\S{${Math.max(8, width - INDENT)}}`, 'g'), '$& ')
  return [
    ...outgoing.flatMap((each) => hanging('  gets   ', words(sentenceOf(each)), width)),
    ...(heldIn(outgoing).length > 0
      ? [`  note   It is off until you allow what it gets: toolroom allow ${id}`]
      : []),
  ]
}
const INDENT = 12

/**
 * What a person allows of these servers: what the command names, and on a terminal what a question lists. `--yes`
 * answers no such question.
 */
export async function allowedBy(
  { given, note, terminal }: Context,
  servers: readonly { readonly name: string; readonly outgoing: readonly Outgoing[] }[],
  named: readonly string[] = given.all('allow'),
): Promise<Allowed> {
  const texts = new Set(named)
  const held = servers.map((each) => ({ ...each, outgoing: heldIn(each.outgoing) }))
  const isNamed = (each: Outgoing) => texts.has(sentenceOf(each))
  const all = held.flatMap(({ outgoing }) => outgoing)
  const unknown = [...texts].find(
    (text) => !servers.some(({ outgoing }) => outgoing.some((each) => sentenceOf(each) === text)),
  )
  if (unknown !== undefined)
    throw usage(`No server would get '${unknown}'`, 'Copy the text from the output of --dry-run')
  const chosen = all.filter(isNamed)
  const left = all.filter((each) => !isNamed(each))
  if (left.length === 0 || given.is('yes') || given.is('dry-run') || !canAsk()) return namesOf(chosen)
  for (const { name, outgoing } of held) {
    const asked = outgoing.filter((each) => !isNamed(each))
    if (asked.length === 0) continue
    note(`${name} would get:`)
    const columns = Math.min(terminal.width ?? process.stderr.columns ?? 80, process.stderr.columns ?? 80)
    for (const line of outgoingLines(
      asked.map((each) => ({ ...each, allowed: true })),
      '',
      columns,
    ))
      note(line)
  }
  const question = `Allow ${left.length === 1 ? 'this value' : `these ${left.length} values`} to leave? Otherwise the server is off [y/N] `
  return namesOf(isYes((await typedAnswer(question)) ?? '') ? all : chosen)
}

export const namesOf = (outgoing: readonly Outgoing[]): Allowed =>
  outgoing.map(({ reference, to, host, program }) => ({ reference, to, host, program }))

/** `toolroom allow SERVER` */
export const allowServer: Run = async (context) => {
  const { api, given, terminal } = context
  const server = await serverNamed(api, given.word('SERVER'))
  const { id, name, outgoing } = server
  const held = heldIn(outgoing)
  if (held.length === 0)
    return {
      json: { id, allowed: [], outgoing },
      lines: [
        outgoing.length === 0
          ? `${name} gets no variable or secret of Toolroom.`
          : `Everything that ${name} gets is allowed.`,
        ...outgoingLines(outgoing, id, terminal.width),
      ],
    }
  const lines = outgoingLines(held, id, terminal.width)
  if (given.is('dry-run')) return dryRun({ id, outgoing }, [`${name} would get:`, ...lines.slice(0, -1)])
  const items = await allowedBy(context, [{ name, outgoing }], given.words('VALUE'))
  if (items.length === 0)
    throw usage(
      `${name} stays off: nothing was allowed`,
      `Name each value, for example: toolroom allow ${id} '${sentenceOf(held[0] as Outgoing)}'`,
    )
  const body = { allow_outgoing: items }
  const path = { id }
  const route = routeOf(server)
  const changed =
    route === '/api/servers/{id}'
      ? await api.patch(route, { path, body })
      : await api.put(route, { path, body })
  return allowedAnswer(id, changed.outgoing, items, terminal.width)
}

function allowedAnswer(
  id: string,
  outgoing: readonly Outgoing[],
  items: Allowed,
  width: number | undefined,
): Answer {
  const left = heldIn(outgoing)
  return {
    json: { id, allowed: items, outgoing },
    lines: [
      signed('ok', `Allowed ${counted(items.length, 'value')} of ${id}`),
      ...(left.length > 0 ? outgoingLines(left, id, width) : ([] as Line[])),
    ],
    next: `next: toolroom test ${id}`,
  }
}
