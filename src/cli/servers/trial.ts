import { isObject } from '../../kernel/json/json-checks.ts'
import { isStdio, type StdioServer, serverNamed } from '../run/any-server.ts'
import { hanging } from '../run/columns.ts'
import type { Answer, Context, Run } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { counted, shortPath } from '../run/human-readable.ts'
import { type Line, toned } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'
import { type Confinement, editCommand, isolationGiven, isolationText, placeText } from './isolation.ts'
import { adviceFor } from './start-failure-advice.ts'

type Report = Schemas['WallsTrialReport']
type Call = NonNullable<Schemas['WallsTrialInput']['calls']>[number]

interface Tried {
  readonly server: StdioServer
  readonly calls: readonly Call[]
  /** The last trial, with what was refused in all of them. */
  readonly report: Report
  /** The isolation that allows what was refused. */
  readonly confinement: Confinement
  /** The server with this isolation, if it was kept. */
  readonly kept: StdioServer | undefined
  /** The command that gives the server this isolation. Undefined if it has it. */
  readonly command: string | undefined
}

/** One refusal makes another one visible, such as a write after a read. */
const MAX_TRIALS = 8

/** `toolroom trial SERVER`: runs a server once in isolation, and with `--apply` keeps the isolation and allows what was refused. */
export const tryServer: Run = async (context) => {
  const { api, given } = context
  const server = await serverNamed(api, given.word('SERVER'))
  if (!isStdio(server)) throw usage(`${server.name} runs at its own URL, so it has no isolation here`, null)
  const calls = given.all('call').map(callOf)
  const report = await trials(context, server, calls)
  const confinement = { isolation: report.isolation, isolation_options: report.suggested_options }
  const command = editCommand(server.id, server, confinement)
  const isKept = given.is('apply') && report.ok && command !== undefined
  const kept = isKept
    ? await api.patch('/api/servers/{id}', { path: { id: server.id }, body: confinement })
    : undefined
  return trialAnswer({ server, calls, report, confinement, kept, command }, context)
}

/** With `--apply`, a server that does not start is started again with a wider isolation. Its calls are made once. */
async function trials(context: Context, server: StdioServer, calls: readonly Call[]): Promise<Report> {
  const { api, given, during } = context
  const { isolation = server.isolation === 'none' ? 'sandbox' : server.isolation, isolation_options } =
    isolationGiven(given, server.isolation_options)
  const refused: Report['refused'] = []
  let options = { ...server.isolation_options, ...isolation_options }
  for (let left = given.is('apply') ? MAX_TRIALS : 1; ; ) {
    const body = { isolation, isolation_options: options, calls: [...calls] }
    const work = api.post('/api/servers/{id}/trial', { path: { id: server.id }, body })
    const report = await during(`Trying ${server.name}`, work)
    refused.push(...report.refused)
    left -= 1
    const isWider = JSON.stringify(report.suggested_options) !== JSON.stringify(options)
    if (report.ok || !isWider || left === 0) return { ...report, refused }
    options = report.suggested_options
  }
}

/** `TOOL`, or `TOOL={"a":1}`. */
function callOf(text: string): Call {
  const at = text.indexOf('=')
  if (at < 0) return { tool: text }
  const tool = text.slice(0, at)
  try {
    const value: unknown = JSON.parse(text.slice(at + 1))
    if (tool !== '' && isObject(value)) return { tool, arguments: value as Record<string, unknown> }
  } catch {
    // the same message as for other values
  }
  throw usage(
    '--call must be a tool, or a tool with a JSON object as its arguments',
    `For example: --call read_file='{"path":"/tmp/a"}'`,
  )
}

function trialAnswer(tried: Tried, { terminal }: Context): Answer {
  const { server, report, kept, command } = tried
  const problem = trialProblem(tried)
  const json = { ...report, applied: kept !== undefined, edit_command: command ?? null }
  return {
    json: problem ? { code: problem.code, detail: problem.detail, hint: problem.hint, ...json } : json,
    lines: trialLines(tried, terminal.width),
    plain: [
      ['start', server.id, report.ok ? 'ok' : 'failed', report.error?.message],
      ...report.calls.map(({ tool, ok, text }) => ['call', tool, ok ? 'ok' : 'failed', text]),
      ...report.refused.map(({ kind, path, evidence }) => ['refused', kind, path, evidence]),
      ...report.lost_files.map((path) => ['lost', path]),
    ],
    exit: problem?.exit,
    next: kept && `next: toolroom ${kept.status === 'running' ? 'info' : 'start'} ${server.id}`,
  }
}

interface Problem {
  readonly exit: NonNullable<Answer['exit']>
  readonly code: string
  readonly detail: string
  readonly hint: string | null
}

/** Why the exit code is not 0. What was opened is no problem any more. */
function trialProblem({ server, report, kept, command }: Tried): Problem | undefined {
  const hint = command === undefined ? null : `Allow it with ${command}`
  const { error, refused } = report
  if (!report.ok)
    return {
      exit: 'failed',
      code: error?.code ?? 'trial_failed',
      detail: error?.message ?? `${server.name} did not start`,
      hint: refused.length > 0 ? hint : (error?.hint ?? null),
    }
  if (kept && refused.length > 0) return undefined
  const failed = report.calls.find(({ ok }) => !ok)
  if (failed)
    return { exit: 'tool_error', code: 'tool_error', detail: `${failed.tool}: ${failed.text}`, hint }
  if (refused.length === 0) return undefined
  return { exit: 'partly_done', code: 'refused', detail: refused[0]?.evidence ?? '', hint }
}

/** What a trial found, in plain words. */
function trialLines(tried: Tried, width: number | undefined): Line[] {
  const { server, calls, report, confinement } = tried
  const signed = (ok: boolean, text: string): Line[] => {
    const [first = '', ...more] = hanging('  ', text, width)
    return [[ok ? toned('ok', '✓') : toned('err', '✕'), first.slice(1)], ...more]
  }
  const place = placeText(report.isolation, confinement.isolation_options.image)
  const why = (report.error?.message ?? '').replace(/^The server was not started: /, '')
  const missed = calls.slice(report.calls.length).map(({ tool }) => `- ${tool} was not called`)
  return [
    ...(report.ok
      ? signed(true, `${server.name} started ${place}: ${counted(report.tools.length, 'tool')}`)
      : signed(false, `${server.name} did not start ${place}${why === '' ? '' : `: ${why}`}`)),
    ...report.calls.flatMap(({ tool, ok, text }) => signed(ok, `${tool}: ${firstLine(text)}`)),
    ...missed,
    ...refusedLines(report, signed, width),
    ...lostLines(report, width),
    ...endLines(tried, width),
  ]
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? ''

function refusedLines(
  { isolation, refused, ok }: Report,
  signed: (ok: boolean, text: string) => Line[],
  width: number | undefined,
): Line[] {
  if (isolation === 'none') return []
  const unseen = 'What it did not try was not seen: it may need more than this.'
  const errors = refused.filter(({ seen_in }) => seen_in === 'errors')
  if (errors.length === 0)
    return ok ? hanging('', `The isolation refused nothing that it tried. ${unseen}`, width) : []
  return [
    'According to its own errors, the isolation refused it:',
    ...errors.flatMap(({ kind, path, evidence }) => [
      ...signed(false, kind === 'network' ? 'the network' : `to ${VERBS[kind]} ${shortPath(path ?? '')}`),
      ...hanging('    ', evidence, width),
    ]),
    ...hanging('', unseen, width),
  ]
}

const SHOWN_FILES = 5

/** What it wrote without an error, and does not find again. */
function lostLines({ lost_files, lost_file_count, refused }: Report, width: number | undefined): Line[] {
  if (lost_files.length === 0) return []
  const shown = lost_files.slice(0, SHOWN_FILES)
  const more = lost_file_count - shown.length
  const isSuggested = refused.some(({ seen_in }) => seen_in === 'lost_files')
  return [
    ...hanging('', 'It wrote files in memory only. They are lost when it ends:', width),
    ...shown.flatMap((path) => hanging('    ', path, width)),
    ...(more > 0 ? [`    and ${counted(more, 'other file')}`] : []),
    ...(isSuggested ? [] : hanging('', 'To keep such files, name their folder with --write.', width)),
  ]
}

const VERBS = { read: 'read', write: 'change' } as const

function endLines({ server, report, confinement, kept, command }: Tried, width: number | undefined): Line[] {
  const { name, id } = server
  if (kept) {
    const waits = kept.restart_needed ? ` after toolroom restart ${id}` : ''
    return hanging('', `Changed: ${name} runs ${isolationText(kept)}${waits}.`, width)
  }
  if (!report.ok && report.refused.length === 0)
    return [
      ...(report.error
        ? adviceFor(report.error, server, confinement).flatMap((line) => hanging('', line, width))
        : []),
      'Nothing was changed.',
    ]
  if (command === undefined) return [`${name} runs with this isolation already.`]
  const does = report.refused.length === 0 ? 'This isolates it that way' : 'This allows it'
  return [`Nothing was changed. ${does}:`, `  ${command}`]
}
