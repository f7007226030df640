import {
  type AnyServer,
  allServers,
  type HttpServer,
  isStdio,
  isUntried,
  needsHelp,
  routeOf,
  type StdioServer,
  serverNamed,
  stateSpan,
} from '../run/any-server.ts'
import { hanging } from '../run/columns.ts'
import {
  type Answer,
  type Context,
  emptyList,
  exitOf,
  type Run,
  type Terminal,
} from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import { followJob } from '../run/follow-job.ts'
import { counted, milliseconds } from '../run/human-readable.ts'
import { type Line, type Span, signed, textOf, toned, widthOf } from '../run/printed-line.ts'
import { repairOf } from '../run/repair-command.ts'
import type { Schemas } from '../run/service-client.ts'
import { isolationText } from './isolation.ts'
import { adviceFor } from './start-failure-advice.ts'

/** Checks that fail because the server does not work, and not the other way round. */
const SYMPTOMS = ['exits', 'handshake']
/** There is nowhere to run it. Then nothing was refused by an isolation. */
const NO_PLACE = ['sandbox_unavailable', 'engine_unavailable', 'image_not_found']

const LABEL = 19
const GAP = '   '
const SEE_ISOLATION = 'what the isolation refuses it'

/** `toolroom test SERVER...`: one with all checks, or several, each started once. */
export const testServer: Run = async (context) => {
  const { api, given } = context
  const names = given.words('SERVER')
  const tag = given.flag('tag')
  if (names.length === 0 && !given.is('all') && tag === undefined)
    throw usage('Which server?', 'For example: toolroom test NAME, or --all')
  const all = await allServers(api)
  const tagged = all.filter(({ tags }) => tag === undefined || tags.includes(tag))
  const chosen = names.length === 0 ? tagged : names.map((name) => findNamed(all, name, 'server'))
  const [only] = chosen
  if (!only)
    return emptyList({ items: [] }, tag === undefined ? 'No servers yet.' : `No server has the tag '${tag}'.`)
  if (names.length !== 1) return tryServers(chosen, context)
  return isStdio(only) ? testStdio(only, context) : testHttp(only, context)
}

const SIGNS = { works: 'ok', failed: 'err', skipped: 'dim' } as const

async function tryServers(servers: readonly AnyServer[], context: Context): Promise<Answer> {
  const ids = [...new Set(servers.map(({ id }) => id))]
  const started = await context.api.post('/api/servers/try', { query: { async: true }, body: { ids } })
  const what = `Trying ${counted(ids.length, 'server')}`
  const report = await followJob<Schemas['TryReport']>(context, started, what)
  const { items, total, works, failed, skipped } = report
  const [first] = items.filter(({ outcome }) => outcome === 'failed')
  const others = [failed > 0 && `${failed} failed`, skipped > 0 && `${skipped} not started`].filter(Boolean)
  return {
    json: {
      ...(first && { code: 'test_failed', detail: `${failed} of ${total} failed`, hint: null }),
      ...report,
    },
    lines: [
      ...items.map(({ id, outcome, summary }) => signed(SIGNS[outcome], `${id}  ${summary}`)),
      `${works} of ${counted(total, 'server')} ${works === 1 ? 'works' : 'work'}${others.length > 0 ? `, ${others.join(', ')}` : ''}.`,
    ],
    plain: items.map(({ id, outcome, summary }) => [id, outcome, summary]),
    exit: exitOf(failed, total),
    next: first && `next: toolroom why ${first.id}`,
  }
}

/** `✓ command       found in /usr/bin` */
const checkLine = (name: string, ok: boolean, detail: string): Line =>
  signed(ok ? 'ok' : 'err', `${name.replaceAll('_', ' ').padEnd(12)}  ${detail}`)

async function testStdio(server: StdioServer, context: Context): Promise<Answer> {
  const { checks, command_line, repair } = await diagnose(context, server)
  const failed = checks.find(({ ok }) => !ok)
  return {
    json: {
      ...(failed && { code: 'test_failed', detail: failed.detail, hint: repair?.detail ?? null }),
      ok: !failed,
      checks,
      command_line,
      repair,
    },
    lines: [
      ...checks.map(({ name, ok, detail }) => checkLine(name, ok, detail)),
      `  runs          ${command_line}`,
    ],
    plain: checks.map(({ name, ok, detail }) => [name, ok, detail]),
    exit: failed ? 'failed' : undefined,
    next: `next: toolroom ${failed ? 'why' : server.status === 'running' ? 'tools' : 'start'} ${server.id}`,
  }
}

async function testHttp({ id, name }: HttpServer, { api, during }: Context): Promise<Answer> {
  const report = await during(
    `Connecting to ${name}`,
    api.post('/api/http-servers/{id}/test', { path: { id } }),
  )
  const { ok, steps, error, tool_count } = report
  const { code = 'test_failed', message: detail = 'The test failed', hint = null } = error ?? {}
  return {
    json: { ...(!ok && { code, detail, hint }), ...report },
    lines: [
      ...steps.map((step) => checkLine(step.name, step.ok, `${step.detail}  ${milliseconds(step.ms)}`)),
      ...(ok
        ? [`${name} works${tool_count === null ? '' : `: ${counted(tool_count, 'tool')}`}.`]
        : [`${detail}. ${hint ?? ''}`]),
    ],
    plain: steps.map((step) => [step.name, step.ok, step.ms, step.detail]),
    exit: ok ? undefined : 'failed',
    next: ok ? `next: toolroom tools ${id}` : undefined,
  }
}

/** What Toolroom checked about a server, in the same words for both kinds. */
function diagnose({ api, during }: Context, server: AnyServer): Promise<Schemas['Diagnosis']> {
  const { id, name } = server
  return during(`Checking ${name}`, api.post(`${routeOf(server)}/diagnose`, { path: { id } }))
}

/** `toolroom why SERVER`: exits with 1 if the server does not work. */
export const explainServer: Run = async (context) => {
  const server = await serverNamed(context.api, context.given.word('SERVER'))
  if (!needsHelp(server)) return works(server)
  return explained(server, await diagnose(context, server), context.terminal)
}

/** Nothing is known to be wrong. Only of a server that has worked is it said that nothing is. */
function works(server: AnyServer): Answer {
  const { id, name, health, tool_count } = server
  const tools =
    tool_count === null || health.summary.includes('tool') ? '' : `, ${counted(tool_count, 'tool')}`
  const said = health.works
    ? 'Nothing is wrong with it.'
    : (health.action ?? 'Nothing is known to be wrong with it.')
  return {
    json: {
      ok: health.works ?? null,
      server_id: id,
      status: server.status,
      detail: health.summary,
      hint: health.action,
    },
    lines: [[stateSpan(server), `  ${name}${tools}. ${health.summary}`], said],
    next: `next: toolroom ${isUntried(server) ? 'test' : 'logs'} ${id}`,
  }
}

function explained(
  server: AnyServer,
  { checks, command_line, repair }: Schemas['Diagnosis'],
  { width, typed }: Terminal,
): Answer {
  const { id, name, health, last_error } = server
  const exit = isStdio(server) ? server.last_exit : null
  const wrote = exit?.stderr_tail.findLast((line) => line.trim() !== '') ?? null
  const message = last_error?.message ?? health.summary
  const cause = checks.find(({ name: check, ok }) => !ok && !SYMPTOMS.includes(check))
  const isNews = cause && !cause.detail.startsWith(message)
  const isIsolated = isStdio(server) && server.isolation !== 'none'
  const usual = last_error?.hint ?? health.action
  const helps = isIsolated && last_error ? adviceFor(last_error, server) : usual === null ? [] : [usual]
  const [hint = null, ...others] = repair ? [repair.detail] : helps
  const again = `toolroom ${isStdio(server) ? 'restart' : 'test'} ${id}`
  const command = repair ? `toolroom edit ${id} --command ${repair.command}` : repairOf(server)
  const fields: [string, string | null][] = [
    ['It last wrote', wrote],
    ['Likely cause', isNews ? cause.detail : null],
    ['Command', command_line],
    ['Runs', isIsolated ? isolationText(server) : null],
  ]
  const labelled = (label: string, value: string): Line[] =>
    hanging(`  ${label === '' ? '' : `${label}:`}`.padEnd(LABEL), typed(value), width)
  return {
    json: {
      ok: false,
      server_id: id,
      status: server.status,
      code: last_error?.code ?? server.status,
      detail: message,
      hint,
      last_line: wrote,
      action: last_error?.action ?? null,
      command,
      checks,
      command_line,
      repair,
    },
    lines: [
      ...hanging('  ', `${name}: ${typed(message)}${timesOf(server)}`, width).map(
        (line, at): Line => (at === 0 ? [toned('err', '✕'), line.slice(1)] : line),
      ),
      ...fields.flatMap(([label, value]) => (value === null || value === '' ? [] : labelled(label, value))),
      ...checkedLines(checks, width),
      ...(hint === null ? [] : labelled('Try', hint)),
      ...others.flatMap((other) => labelled('', other)),
      ...(isIsolated && !NO_PLACE.includes(last_error?.code ?? '')
        ? labelled('See', `${SEE_ISOLATION}: toolroom trial ${id}`)
        : []),
      ...(command === again || helps.some((help) => help.includes(command)) ? [] : labelled('Run', command)),
      ...labelled('Then', again),
    ],
    exit: 'failed',
    next: `next: toolroom logs ${id}`,
  }
}

/** `command ✓   exits ✕`, as many on a line as fit. */
function checkedLines(checks: Schemas['Diagnosis']['checks'], width = Number.POSITIVE_INFINITY): Line[] {
  const rows: Span[][] = []
  let used = width
  for (const { name, ok } of checks) {
    const spans = checkSpans(name, ok)
    const own = spans.reduce<number>((sum, span) => sum + widthOf(textOf(span)), 0)
    const isNew = rows.length === 0 || used + GAP.length + own > width
    if (isNew) rows.push(spans)
    else rows.at(-1)?.push(GAP, ...spans)
    used = isNew ? LABEL + own : used + GAP.length + own
  }
  return rows.map((spans, at) => [(at === 0 ? '  Checked:' : '').padEnd(LABEL), ...spans])
}

function timesOf(server: AnyServer): string {
  const times = isStdio(server) ? server.recent_exits.length : 0
  return times > 1 ? ` (${times} times)` : ''
}

/** `command ✓` */
const checkSpans = (name: string, ok: boolean): Span[] => [
  `${name.replaceAll('_', ' ')} `,
  ok ? toned('ok', '✓') : toned('err', '✕'),
]
