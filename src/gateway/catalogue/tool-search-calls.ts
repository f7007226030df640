import { isObject } from '../../kernel/is-object.ts'
import type { Offer, OfferedTool } from './offers.ts'
import { CALL_TOOL, DEFAULT_LIMIT, FIND_TOOLS, MAX_LIMIT, MAX_QUERY } from './tool-search-definitions.ts'

/** What a tool call means: a tool of a server, or a result of our own. Undefined: there is no such tool. */
export type ResolvedTool =
  | { readonly kind: 'call'; readonly found: OfferedTool; readonly args: unknown }
  | { readonly kind: 'result'; readonly result: object }
  | undefined

/** Resolves the two tools of search mode, and every other tool by its name. */
export function resolveInSearchMode(offer: Offer, name: unknown, args: unknown): ResolvedTool {
  if (name === FIND_TOOLS) return { kind: 'result', result: findTools(offer, args) }
  if (name === CALL_TOOL) return innerCall(offer, args)
  const found = typeof name === 'string' ? offer.find(name) : undefined
  return found && { kind: 'call', found, args }
}

/** Invalid arguments become a tool error, which the model sees and can correct, instead of a protocol error. */
function findTools(offer: Offer, args: unknown): object {
  const { query, limit = DEFAULT_LIMIT } = isObject(args) ? args : {}
  if (typeof query !== 'string' || query.length > MAX_QUERY)
    return mistake(`query must be a string of at most ${MAX_QUERY} characters`)
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    return mistake(`limit must be an integer from 1 to ${MAX_LIMIT}`)
  const { tools: found, total } = offer.search(query, limit)
  const tools = found.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
  const text = total === 0 ? nothing(offer, query) : JSON.stringify(tools)
  return { content: [{ type: 'text', text }], structuredContent: { tools, total } }
}

function innerCall(offer: Offer, args: unknown): ResolvedTool {
  const { name, arguments: inner = {} } = isObject(args) ? args : {}
  const found = typeof name === 'string' ? offer.find(name) : undefined
  if (found && isObject(inner)) return { kind: 'call', found, args: inner }
  const why = found
    ? 'arguments must be an object'
    : `Unknown tool '${String(name).slice(0, 100)}'. Use a name that ${FIND_TOOLS} returned`
  return { kind: 'result', result: mistake(why) }
}

function nothing({ tools }: Offer, query: string): string {
  const all = tools.length === 1 ? 'is 1 tool' : `are ${tools.length} tools`
  return `No tool matches '${query.slice(0, 100)}'. There ${all} in total: try other or fewer words.`
}

const mistake = (text: string): object => ({ content: [{ type: 'text', text }], isError: true })
