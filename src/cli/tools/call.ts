import { isObject } from '../../kernel/json/json-checks.ts'
import { type SseEvent, SseReader } from '../../mcp/protocol/sse-reader.ts'
import { MEBIBYTE, RemoteFailure } from '../../net/http-failure.ts'
import type { HttpResponse } from '../../net/http-response.ts'
import { isStdio, serverNamed } from '../run/any-server.ts'
import type { Answer, Context, Run } from '../run/command-context.ts'
import { notRunning, unreachable, usage } from '../run/failure.ts'
import { type Line, signed, type Tone, toned } from '../run/printed-line.ts'
import { readStdin } from '../run/stdin.ts'
import { type Tool, toolNamed, toolsOf } from './tools.ts'

const MAX_BYTES = 64 * MEBIBYTE

/** `toolroom call SERVER TOOL [KEY=VALUE...]`: exits with 7 if the tool answers with an error. */
export const callTool: Run = async (context) => {
  const { api, given } = context
  const server = await serverNamed(api, given.word('SERVER'))
  const tool = toolNamed(await toolsOf(api, server), given.word('TOOL'), server.id)
  const timeout = given.flag('timeout')
  if (timeout !== undefined && !/^\d{1,6}$/.test(timeout))
    throw usage('--timeout must be a number of seconds', null)
  const timeout_s = timeout === undefined ? {} : { timeout_s: Number(timeout) }
  const body = { arguments: await argumentsFor(tool, context), ...timeout_s }
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, server_id: server.id, tool: tool.name, ...body },
      lines: [
        `Would call ${tool.name} of ${server.id} with ${JSON.stringify(body.arguments)}`,
        'Nothing was called (--dry-run).',
      ],
    }
  const kind = isStdio(server) ? 'servers' : 'http-servers'
  const path = `/api/${kind}/${server.id}/tools/${encodeURIComponent(tool.name)}/call`
  return callAnswer(await streamedCall(context, path, body, tool.name), `${server.id} ${tool.name}`)
}

/** From `KEY=VALUE` words, or JSON: in `--args`, or on stdin if that is `-`. */
async function argumentsFor(tool: Tool, { given }: Context): Promise<Record<string, unknown>> {
  const words = given.words('KEY=VALUE')
  const text = given.flag('args') ?? (words.length === 1 && words[0] === '-' ? '-' : undefined)
  if (text !== undefined) return parsedObject(text === '-' ? await readStdin() : text)
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      if (at < 1) throw usage(`'${word}' must be KEY=VALUE`, 'Give other arguments with --args JSON')
      const key = word.slice(0, at)
      return [key, valueFor(tool, key, word.slice(at + 1))]
    }),
  )
}

function parsedObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value as Record<string, unknown>
  } catch {
    // the same message as for other values
  }
  throw usage('The arguments must be one JSON object', `For example: --args '{"path":"/tmp"}'`)
}

/** A text stays text where the tool accepts text. Elsewhere it is read as JSON if it is any. */
function valueFor({ input_schema }: Tool, key: string, text: string): unknown {
  const properties = isObject(input_schema.properties)
    ? (input_schema.properties as Record<string, unknown>)
    : {}
  const schema = Object.hasOwn(properties, key) ? properties[key] : undefined
  const types = isObject(schema) ? [(schema as { type?: unknown }).type].flat() : []
  if (types.includes('string')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * Calls a tool. Meanwhile its progress and its log messages go to stderr, and its questions to the terminal. Resolves with the
 * result. Ctrl-C closes the connection, which cancels the call.
 */
async function streamedCall(
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
      if (value.event === 'log') note(serverLogLine(data))
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
function serverLogLine({ level, logger, data }: Readonly<Record<string, unknown>>): Line {
  const name = String(level ?? 'info')
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return [toned(TONES[name] ?? 'err', name), `  ${logger === undefined ? '' : `${logger}: `}${text}`]
}

function callAnswer(result: unknown, name: string): Answer {
  const { content, structuredContent, isError } = result as {
    content?: unknown
    structuredContent?: unknown
    isError?: unknown
  }
  const blocks = Array.isArray(content) ? content : []
  const lines = blocks.flatMap((block) => blockLines(block))
  const shown =
    lines.length > 0 || structuredContent === undefined
      ? lines
      : JSON.stringify(structuredContent, null, 2).split('\n')
  if (isError !== true) return { json: result, lines: shown, isVerbatim: true }
  const [first = 'the tool answered with an error', ...rest] = shown
  return {
    json: result,
    lines: [signed('err', `${name}: ${first}`), ...rest],
    isVerbatim: true,
    exit: 'tool_error',
  }
}

/** Text as it is, and everything else by its kind and size. */
function blockLines(block: unknown): string[] {
  if (!isObject(block)) return []
  const { type, text, data, mimeType, uri, name } = block as Readonly<Record<string, unknown>>
  if (typeof text === 'string') return text.split('\n')
  if (typeof data === 'string')
    return [
      `(${String(type)}, ${String(mimeType ?? 'unknown type')}, ${data.length} characters in Base64; see --json)`,
    ]
  return [`(${String(type)}${uri === undefined ? '' : ` ${String(uri ?? name)}`}; see --json)`]
}
