import { type Definition, definitionText } from '../../mcp/protocol/listed-definitions.ts'
import {
  isObjectJson,
  memberOf,
  plainOf,
  RawJson,
  textOf,
  UnparsedJson,
} from '../../mcp/protocol/raw-json.ts'
import type { AgentToolList, OfferedTool } from './agent-tool-lists.ts'
import { CALL_TOOL, DEFAULT_LIMIT, FIND_TOOLS, MAX_LIMIT, MAX_QUERY } from './tool-search-index.ts'

/** A tool of a server, or a result of our own. Undefined for an unknown tool. */
type ResolvedToolCall =
  | { readonly kind: 'call'; readonly found: OfferedTool; readonly args: unknown }
  | { readonly kind: 'result'; readonly result: object; readonly error?: SearchModeError }
  | undefined

/** What was wrong with the arguments of `find_tools` or `call_tool`. Without a code, the tool is unknown. */
interface SearchModeError {
  readonly message: string
  readonly code?: string
}

/** Finds the tool of a tools/call request. In search mode, handles `find_tools` and `call_tool`. */
export function resolveInSearchMode(list: AgentToolList, name: unknown, args: unknown): ResolvedToolCall {
  if (typeof name !== 'string') return undefined
  if (list.mode === 'search' && name === FIND_TOOLS) return findTools(list, args)
  if (list.mode === 'search' && name === CALL_TOOL) return innerCall(list, args)
  const found = list.find(name)
  return found && { kind: 'call', found, args }
}

/** The tool that a tools/call request names: in search mode, the one that `call_tool` is to call. */
export function toolNameIn({ mode }: AgentToolList, name: unknown, args: unknown): string {
  const isInner = mode === 'search' && name === CALL_TOOL && isObjectJson(args)
  return String(isInner ? argumentNamed(args, 'name') : name)
}

/** Invalid arguments become a tool error, which the model sees and can correct, instead of a protocol error. */
function findTools(list: AgentToolList, args: unknown): ResolvedToolCall {
  const [query, limit = DEFAULT_LIMIT] = [argumentNamed(args, 'query'), argumentNamed(args, 'limit')]
  if (typeof query !== 'string' || query.length > MAX_QUERY)
    return invalid(`query must be a string of at most ${MAX_QUERY} characters`)
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    return invalid(`limit must be an integer from 1 to ${MAX_LIMIT}`)
  const { tools: found, total } = list.search(query, limit)
  const tools = `[${found.map(shownText).join()}]`
  const content = [{ type: 'text', text: total === 0 ? noMatch(list, query) : tools }]
  const json = `{"content":${JSON.stringify(content)},"structuredContent":{"tools":${tools},"total":${total}}}`
  return { kind: 'result', result: new RawJson(json, { content }) }
}

/** The fields that a call needs, as the server wrote them. */
function shownText(definition: Definition): string {
  const raw = new RawJson(definitionText(definition), definition)
  const fields = ['name', 'description', 'inputSchema'].filter((field) => definition[field] !== undefined)
  return `{${fields.map((field) => `"${field}":${textOf(memberOf(raw, field))}`).join()}}`
}

function innerCall(list: AgentToolList, args: unknown): ResolvedToolCall {
  const name = argumentNamed(args, 'name')
  const inner = memberOf(args, 'arguments') ?? {}
  const found = typeof name === 'string' ? list.find(name) : undefined
  if (!found) return undefined
  const isNull = !(inner instanceof UnparsedJson) && plainOf(inner) === null
  if (isObjectJson(inner) || isNull) return { kind: 'call', found, args: inner }
  return invalid('arguments must be an object')
}

/** The result of `call_tool` for a tool that does not exist. Undefined when the call is not one of `call_tool`. */
export function unknownInSearchMode({ mode }: AgentToolList, name: unknown, args: unknown): ResolvedToolCall {
  if (mode !== 'search' || name !== CALL_TOOL) return undefined
  const wanted = String(argumentNamed(args, 'name')).slice(0, 100)
  return toolError({ message: `Unknown tool '${wanted}'. Use a name that ${FIND_TOOLS} returned` })
}

/** One of the arguments, parsed. */
const argumentNamed = (args: unknown, name: string): unknown => plainOf(memberOf(args, name))

function noMatch({ tools }: AgentToolList, query: string): string {
  const all = tools.length === 1 ? 'is 1 tool' : `are ${tools.length} tools`
  return `No tool matches '${query.slice(0, 100)}'. There ${all} in total: try other or fewer words.`
}

const invalid = (message: string): ResolvedToolCall => toolError({ message, code: 'invalid_arguments' })

const toolError = (error: SearchModeError): ResolvedToolCall => ({
  kind: 'result',
  result: { content: [{ type: 'text', text: error.message }], isError: true },
  error,
})
