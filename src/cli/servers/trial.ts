import { isObject } from '../../kernel/is-object.ts'
import type { Answer, Context, Run } from '../frame/context.ts'
import { usage } from '../frame/failure.ts'
import { isStdio, serverNamed } from './all-servers.ts'
import { editCommand, isolationGiven } from './isolation.ts'
import type { StdioServer } from './state.ts'
import { type Call, type Report, type Tried, trialLines } from './trial-lines.ts'

/** One refusal makes another one visible, such as a write after a read. */
const MAX_TRIALS = 8

/** `toolroom trial SERVER`: runs a server once in isolation, and with `--apply` keeps them, open for what was refused. */
export const run: Run = async (context) => {
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
  return answerOf({ server, calls, report, confinement, kept, command }, context)
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

function answerOf(tried: Tried, { terminal }: Context): Answer {
  const { server, report, kept, command } = tried
  const problem = problemOf(tried)
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
function problemOf({ server, report, kept, command }: Tried): Problem | undefined {
  const hint = command === undefined ? null : `Open the isolation with ${command}`
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
