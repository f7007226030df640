import type { Answer, Run } from '../frame/context.ts'
import type { Schemas } from '../frame/typed-api.ts'
import { type Line, type Span, toned } from '../output/line.ts'
import { counted } from '../output/units.ts'
import { isStdio, serverNamed } from './all-servers.ts'
import { checkSpans, diagnose } from './checks.ts'
import { type AnyServer, needsHelp, stateSpan } from './state.ts'

/** Checks that fail because the server does not work, and not the other way round. */
const SYMPTOMS = ['exits', 'handshake']

/** `toolroom why SERVER`: exits with 1 if the server does not work. */
export const run: Run = async (context) => {
  const server = await serverNamed(context.api, context.given.word('SERVER'))
  if (!needsHelp(server)) return works(server)
  return explained(server, await diagnose(context, server))
}

function works(server: AnyServer): Answer {
  const { id, name, health, tool_count } = server
  const tools = tool_count === null ? '' : `, ${counted(tool_count, 'tool')}`
  return {
    json: { ok: true, server_id: id, status: server.status, detail: health.summary, hint: null },
    lines: [[stateSpan(server), `  ${name}${tools}. ${health.summary}`], 'Nothing is wrong with it.'],
    next: `next: toolroom logs ${id}`,
  }
}

function explained(server: AnyServer, { checks, command_line, repair }: Schemas['Diagnosis']): Answer {
  const { id, name, health, last_error } = server
  const exit = isStdio(server) ? server.last_exit : null
  const wrote = exit?.stderr_tail.findLast((line) => line.trim() !== '') ?? null
  const message = last_error?.message ?? health.summary
  const cause = checks.find(({ name: check, ok }) => !ok && !SYMPTOMS.includes(check))
  const isNews = cause && !cause.detail.startsWith(message)
  const hint = repair?.detail ?? last_error?.hint ?? health.action
  const fields: [string, string | null][] = [
    ['It last wrote', wrote],
    ['Likely cause', isNews ? cause.detail : null],
    ['Command', command_line],
  ]
  const checked: Span[] = checks.flatMap(({ name: check, ok }, at) => [
    at === 0 ? '' : '   ',
    ...checkSpans(check, ok),
  ])
  return {
    json: {
      ok: false,
      server_id: id,
      status: server.status,
      code: last_error?.code ?? server.status,
      detail: message,
      hint,
      last_line: wrote,
      checks,
      command_line,
      repair,
    },
    lines: [
      [toned('err', '✕ '), `${name}: ${message}${timesOf(server)}`],
      ...fields.flatMap(([label, value]): Line[] =>
        value === null || value === '' ? [] : [`  ${`${label}:`.padEnd(16)} ${value}`],
      ),
      ...(checks.length === 0 ? [] : [[`  ${'Checked:'.padEnd(16)} `, ...checked]]),
      ...(hint === null ? [] : [`  ${'Try:'.padEnd(16)} ${hint}`]),
      `  ${'Then:'.padEnd(16)} toolroom ${isStdio(server) ? 'restart' : 'test'} ${id}`,
    ],
    exit: 'failed',
    next: `next: toolroom logs ${id}`,
  }
}

function timesOf(server: AnyServer): string {
  const times = isStdio(server) ? server.recent_exits.length : 0
  return times > 1 ? ` (${times} times)` : ''
}
