import { isObject } from '../../kernel/is-object.ts'
import { type SseEvent, SseReader } from '../../mcp/protocol/sse-reader.ts'
import { MEBIBYTE, RemoteFailure } from '../../net/http-failure.ts'
import type { HttpResponse } from '../../net/http-response.ts'
import type { Context } from '../run/context.ts'
import { notRunning, unreachable } from '../run/failure.ts'
import { type Line, type Tone, toned } from '../run/line.ts'

const MAX_BYTES = 64 * MEBIBYTE

/**
 * Calls a tool. Meanwhile its progress and its log messages go to stderr, and its questions to the terminal. Resolves with the
 * result. Ctrl-C closes the connection, which cancels the call.
 */
export async function streamedCall(
  { service, note, during, api }: Context,
  path: string,
  body: object,
  tool: string,
): Promise<unknown> {
  const onInterrupt = () => {
    note(`Cancelled ${tool}`)
    process.exit(130)
  }
  process.once('SIGINT', onInterrupt)
  const phase = `Calling ${tool}`
  const headers = { accept: 'text/event-stream' }
  try {
    const opened = service.open({ method: 'POST', path, body, timeoutMs: null, headers })
    const events = eventsOf(await during(phase, opened))
    for (;;) {
      const { value, done } = await during(phase, events.next())
      if (done) throw notRunning('Toolroom closed the connection before the result')
      const data: unknown = JSON.parse(value.data.toString())
      if (value.event === 'result') return data
      if (!isObject(data)) continue
      if (value.event === 'error') throw service.refusal(Number(data.status), data)
      if (value.event === 'progress') note(progressLine(data))
      if (value.event === 'log') note(logLine(data))
      if (value.event === 'elicitation') await (await import('./elicitation.ts')).elicit(api, tool, data)
    }
  } catch (error) {
    throw error instanceof RemoteFailure ? unreachable(service.address, error) : error
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}

async function* eventsOf(response: HttpResponse): AsyncGenerator<SseEvent, undefined> {
  const events: SseEvent[] = []
  const reader = new SseReader((event) => events.push(event), MAX_BYTES)
  for await (const chunk of response.chunks()) {
    reader.push(chunk)
    yield* events.splice(0)
  }
}

/** `2/5  Copying files` */
function progressLine({ progress, total, message }: Readonly<Record<string, unknown>>): Line {
  const share = total === undefined ? `${progress}` : `${progress}/${total}`
  return [toned('dim', share), message === undefined ? '' : `  ${message}`]
}

const TONES: Readonly<Record<string, Tone>> = { debug: 'dim', info: 'dim', notice: 'dim', warning: 'warn' }

/** `warning  db: the cache is cold` */
function logLine({ level, logger, data }: Readonly<Record<string, unknown>>): Line {
  const name = String(level ?? 'info')
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return [toned(TONES[name] ?? 'err', name), `  ${logger === undefined ? '' : `${logger}: `}${text}`]
}
