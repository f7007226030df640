import { createHash } from 'node:crypto'

/**
 * The APIs of language models take 64 signs, and agents put the name of our entry before ours: `mcp__toolroom__` is 15.
 * Cursor counts 60 with the name of the entry.
 */
const MAX_LENGTH = 49
const MARK_LENGTH = 8
const SEPARATOR = '__'
const OTHER_SIGNS = /[^A-Za-z0-9_-]/g

/**
 * What a tool is called at the gateway: `<server>__<tool>`. It depends on nothing but these two, so that no name changes
 * when another server comes or goes. What cannot be written so plainly, or could be read in two ways, gets a mark made
 * from both.
 */
export function gatewayName(serverId: string, tool: string): string {
  const plain = `${serverId}${SEPARATOR}${tool}`
  const isPlain = plain.length <= MAX_LENGTH && !OTHER_SIGNS.test(plain) && !isUnclear(serverId)
  OTHER_SIGNS.lastIndex = 0
  if (isPlain) return plain
  const mark = createHash('sha256').update(`${serverId}\0${tool}`).digest('hex').slice(0, MARK_LENGTH)
  return `${plain.replace(OTHER_SIGNS, '_').slice(0, MAX_LENGTH - MARK_LENGTH - 1)}_${mark}`
}

/** `a__b` with the tool `c` and `a` with the tool `b__c` would be one; so would `a_` with `x` and `a` with `_x`. */
const isUnclear = (serverId: string): boolean => serverId.includes(SEPARATOR) || serverId.endsWith('_')

export interface NamedTool<T> {
  /** What agents call it. */
  readonly name: string
  readonly server_id: string
  /** What its server calls it. */
  readonly tool: string
  readonly definition: T
}

export interface Refused {
  readonly server_id: string
  readonly tool: string
  readonly reason: string
}

/** All tools of all servers under one roof, in a fixed order. Two that an agent could not tell apart are not both let in. */
export function gather<T>(
  servers: readonly {
    readonly id: string
    readonly tools: readonly {
      readonly name: string
      readonly alias?: string | null
      readonly definition: T
    }[]
  }[],
): { tools: NamedTool<T>[]; refused: Refused[] } {
  const tools: NamedTool<T>[] = []
  const refused: Refused[] = []
  const seen = new Map<string, NamedTool<T>>()
  for (const { id, tools: offered } of [...servers].sort(byId)) {
    for (const { name: tool, alias, definition } of offered) {
      const named = { name: gatewayName(id, alias ?? tool), server_id: id, tool, definition }
      const twin = seen.get(lookOf(named.name))
      if (twin) {
        const reason = `It looks like '${twin.tool}' of '${twin.server_id}' at the gateway: rename one of them`
        refused.push({ server_id: id, tool, reason })
        continue
      }
      seen.set(lookOf(named.name), named)
      tools.push(named)
    }
  }
  return { tools, refused }
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1)

/** Letters that a reader, and a language model, take for each other. */
const lookOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[1il|]/g, 'l')
    .replace(/0/g, 'o')
    .replace(/-/g, '_')
