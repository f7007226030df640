import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

/**
 * The sample server: a program of its own, which the build puts beside main.js. It keeps notes in the folder that it is
 * started from, and reaches nothing else. MCP over stdio is one JSON message per line, so it needs no library.
 */

interface Note {
  readonly id: number
  readonly text: string
}
interface Request {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

const FILE = join(dirname(process.argv[1] ?? '.'), 'notes.json')
const MAX_NOTES = 1000
const MAX_CHARS = 2000
const VERSION = '2025-06-18'
const METHOD_NOT_FOUND = -32601

const text = (description: string) => ({ type: 'string', description, minLength: 1, maxLength: MAX_CHARS })
const reads = { readOnlyHint: true, openWorldHint: false }

const TOOLS = [
  {
    name: 'add_note',
    description: 'Keeps a note.',
    inputSchema: {
      type: 'object',
      properties: { text: text('What to remember') },
      required: ['text'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  },
  {
    name: 'list_notes',
    description: 'Lists all notes.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: reads,
  },
  {
    name: 'search_notes',
    description: 'Finds the notes that contain a text, in capitals or not.',
    inputSchema: {
      type: 'object',
      properties: { query: text('What the note contains') },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: reads,
  },
]

process.stderr.write(`keeping notes in ${FILE}\n`)

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = parsed(line)
  if (id === undefined || method === undefined) return // a notification
  const answer = answerTo(method, params)
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`)
})

function parsed(line: string): Request {
  try {
    const message: unknown = JSON.parse(line)
    return typeof message === 'object' && message !== null ? message : {}
  } catch {
    return {}
  }
}

function answerTo(method: string, params: NonNullable<Request['params']>): object {
  if (method === 'ping') return { result: {} }
  if (method === 'tools/list') return { result: { tools: TOOLS } }
  if (method === 'tools/call') return { result: call(params) }
  if (method !== 'initialize')
    return { error: { code: METHOD_NOT_FOUND, message: `${method} is not supported` } }
  const serverInfo = { name: 'toolroom-sample-notes', title: 'Sample notes', version: '1.0.0' }
  return { result: { protocolVersion: VERSION, capabilities: { tools: {} }, serverInfo } }
}

function call({ name, arguments: args }: NonNullable<Request['params']>): object {
  const given = (key: string) => String((args as Readonly<Record<string, unknown>> | undefined)?.[key] ?? '')
  try {
    switch (name) {
      case 'add_note':
        return result(add(given('text')))
      case 'list_notes':
        return result(listed(notes(), 'There are no notes yet.'))
      case 'search_notes':
        return result(found(given('query')))
      default:
        return result(`There is no tool called ${String(name)}`, true)
    }
  } catch (error) {
    return result(error instanceof Error ? error.message : String(error), true)
  }
}

const result = (said: string, isError = false): object => ({
  content: [{ type: 'text', text: said }],
  ...(isError && { isError }),
})

function add(said: string): string {
  const known = notes()
  if (said.trim() === '' || said.length > MAX_CHARS)
    throw new Error(`A note has 1 to ${MAX_CHARS} characters`)
  if (known.length >= MAX_NOTES) throw new Error(`There are ${MAX_NOTES} notes, and no room for more`)
  const id = 1 + (known.at(-1)?.id ?? 0)
  const temp = `${FILE}.new`
  writeFileSync(temp, `${JSON.stringify([...known, { id, text: said }], null, 2)}\n`, { mode: 0o600 })
  renameSync(temp, FILE)
  process.stderr.write(`kept note ${id} of ${known.length + 1}\n`)
  return `Note ${id} is kept: ${said}`
}

function found(query: string): string {
  const wanted = query.toLowerCase()
  const matching = notes().filter((note) => note.text.toLowerCase().includes(wanted))
  return listed(matching, `No note contains "${query}".`)
}

const listed = (all: readonly Note[], none: string): string =>
  all.length === 0 ? none : all.map((note) => `${note.id}  ${note.text}`).join('\n')

function notes(): readonly Note[] {
  let content: string
  try {
    content = readFileSync(FILE, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return JSON.parse(content)
}
