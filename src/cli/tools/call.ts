import { isObject } from '../../kernel/is-object.ts'
import type { Answer, Context, Run } from '../run/context.ts'
import { usage } from '../run/failure.ts'
import { toned } from '../run/line.ts'
import { readStdin } from '../run/stdin.ts'
import { isStdio, serverNamed } from '../servers/any-server.ts'
import { streamedCall } from './streamed-call.ts'
import { type Tool, toolNamed, toolsOf } from './tools-of.ts'

/** `toolroom call SERVER TOOL [KEY=VALUE...]`: exits with 7 if the tool answers with an error. */
export const callTool: Run = async (context) => {
  const { api, given } = context
  const server = await serverNamed(api, given.word('SERVER'))
  const tool = toolNamed(await toolsOf(api, server), given.word('TOOL'), server.id)
  const timeout = given.flag('timeout')
  if (timeout !== undefined && !/^\d{1,6}$/.test(timeout))
    throw usage('--timeout must be a number of seconds', null)
  const body = {
    arguments: await argumentsFor(tool, context),
    ...(timeout !== undefined && { timeout_s: Number(timeout) }),
  }
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
  return answerOf(await streamedCall(context, path, body, tool.name), `${server.id} ${tool.name}`)
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

function answerOf(result: unknown, name: string): Answer {
  const { content, structuredContent, isError } = result as {
    content?: unknown
    structuredContent?: unknown
    isError?: unknown
  }
  const blocks = Array.isArray(content) ? content : []
  const lines = blocks.flatMap((block) => linesOf(block))
  const shown =
    lines.length > 0 || structuredContent === undefined
      ? lines
      : JSON.stringify(structuredContent, null, 2).split('\n')
  if (isError !== true) return { json: result, lines: shown }
  const [first = 'the tool answered with an error', ...rest] = shown
  return { json: result, lines: [[toned('err', '✕ '), `${name}: ${first}`], ...rest], exit: 'tool_error' }
}

/** Text as it is, and everything else by its kind and size. */
function linesOf(block: unknown): string[] {
  if (!isObject(block)) return []
  const { type, text, data, mimeType, uri, name } = block as Readonly<Record<string, unknown>>
  if (typeof text === 'string') return text.split('\n')
  if (typeof data === 'string')
    return [
      `(${String(type)}, ${String(mimeType ?? 'unknown type')}, ${data.length} characters in Base64; see --json)`,
    ]
  return [`(${String(type)}${uri === undefined ? '' : ` ${String(uri ?? name)}`}; see --json)`]
}
