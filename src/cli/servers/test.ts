import type { Answer, Context, Run } from '../frame/context.ts'
import { type Line, toned } from '../output/line.ts'
import { counted, milliseconds } from '../output/units.ts'
import { isStdio, serverNamed } from './all-servers.ts'
import { diagnose } from './checks.ts'
import type { HttpServer, StdioServer } from './state.ts'

/** `toolroom test SERVER` */
export const run: Run = async (context) => {
  const server = await serverNamed(context.api, context.given.word('SERVER'))
  return isStdio(server) ? testStdio(server, context) : testHttp(server, context)
}

const mark = (ok: boolean): Line[number] => (ok ? toned('ok', '✓ ') : toned('err', '✕ '))

async function testStdio(server: StdioServer, context: Context): Promise<Answer> {
  const { checks, command_line, repair } = await diagnose(context, server)
  const failed = checks.find(({ ok }) => !ok)
  return {
    json: failed
      ? {
          code: 'test_failed',
          detail: failed.detail,
          hint: repair?.detail ?? null,
          ok: false,
          checks,
          command_line,
          repair,
        }
      : { ok: true, checks, command_line, repair },
    lines: [
      ...checks.map(
        ({ name, ok, detail }): Line => [mark(ok), `${name.replaceAll('_', ' ').padEnd(12)}  ${detail}`],
      ),
      `  runs          ${command_line}`,
    ],
    plain: checks.map(({ name, ok, detail }) => [name, ok, detail]),
    exit: failed ? 'failed' : undefined,
    next: failed ? `next: toolroom why ${server.id}` : `next: toolroom start ${server.id}`,
  }
}

async function testHttp({ id, name }: HttpServer, { api, during }: Context): Promise<Answer> {
  const report = await during(
    `Connecting to ${name}`,
    api.post('/api/http-servers/{id}/test', { path: { id } }),
  )
  const { ok, steps, error, tool_count } = report
  return {
    json: ok
      ? report
      : {
          code: error?.code ?? 'test_failed',
          detail: error?.message ?? 'The test failed',
          hint: error?.hint ?? null,
          ...report,
        },
    lines: [
      ...steps.map(
        (step): Line => [
          mark(step.ok),
          `${step.name.replaceAll('_', ' ').padEnd(12)}  ${step.detail}  ${milliseconds(step.ms)}`,
        ],
      ),
      ...(ok
        ? [`${name} works${tool_count === null ? '' : `: ${counted(tool_count, 'tool')}`}.`]
        : [`${error?.message ?? 'The test failed'}. ${error?.hint ?? ''}`]),
    ],
    plain: steps.map((step) => [step.name, step.ok, step.ms, step.detail]),
    exit: ok ? undefined : 'failed',
    next: ok ? `next: toolroom tools ${id}` : undefined,
  }
}
