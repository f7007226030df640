import { RequestError } from './dialogue.ts'
import { isObject } from './message.ts'
import type { Asker } from './modern.ts'

type Tool = Readonly<Record<string, unknown>>

export interface ToolList {
  /** As the server sent them, unknown fields included. No name comes twice. */
  readonly tools: readonly Tool[]
  /** There were more tools or pages than we take. */
  readonly truncated: boolean
  /** Tools that were left out because an earlier one has their name. */
  readonly duplicates: number
}

export const NO_TOOLS: ToolList = { tools: [], truncated: false, duplicates: 0 }

const MAX_TOOLS = 5000
const MAX_PAGES = 100
const METHOD_NOT_FOUND = -32_601

/** Every page of the list, within one deadline. A cursor that comes again, or never ends, is cut. */
export async function listTools(asker: Pick<Asker, 'request'>, timeoutMs: number): Promise<ToolList> {
  const deadline = performance.now() + timeoutMs
  const byName = new Map<unknown, Tool>()
  const seen = new Set<string>()
  let duplicates = 0
  const listed = (truncated: boolean) => ({ tools: [...byName.values()], truncated, duplicates })
  let params = {}
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const left = Math.max(1, deadline - performance.now())
    const result = await asker.request('tools/list', params, { timeoutMs: left })
    const { tools, nextCursor } = isObject(result) ? result : {}
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue
      if (byName.has(tool.name)) duplicates += 1
      else if (byName.size === MAX_TOOLS) return listed(true)
      else byName.set(tool.name, tool)
    }
    if (typeof nextCursor !== 'string') return listed(false) // an empty string is a cursor
    if (seen.has(nextCursor)) return listed(true)
    seen.add(nextCursor)
    params = { cursor: nextCursor }
  }
  return listed(true)
}

/** Servers exist that declare tools and do not know the question. */
export function isUnknownMethod(error: unknown): boolean {
  return error instanceof RequestError && error.remote?.code === METHOD_NOT_FOUND
}
