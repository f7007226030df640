import { createHash } from 'node:crypto'

/**
 * Model APIs accept 64 characters, of which agents use up to 15 for the name of our entry: `mcp__toolroom__`. Cursor
 * accepts 60 including the entry name.
 */
const MAX_LENGTH = 49
const HASH_LENGTH = 8
const SEPARATOR = '__'
const OTHER_CHARACTERS = /[^A-Za-z0-9_-]/g

/**
 * The name of a tool at the gateway: `<server>__<tool>`. It depends on nothing else, so it stays the same when other servers
 * are added or removed. A name that is too long, ambiguous, or has other characters gets a hash of both parts.
 */
export function gatewayName(serverId: string, tool: string): string {
  const plain = `${serverId}${SEPARATOR}${tool}`
  const isPlain = plain.length <= MAX_LENGTH && !OTHER_CHARACTERS.test(plain) && !isAmbiguous(serverId)
  OTHER_CHARACTERS.lastIndex = 0
  if (isPlain) return plain
  const hash = createHash('sha256').update(`${serverId}\0${tool}`).digest('hex').slice(0, HASH_LENGTH)
  return `${plain.replace(OTHER_CHARACTERS, '_').slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`
}

/** The server whose tools have names like this one, and the rest of the name. */
export function serverIn(name: string, ids: readonly string[]): { id: string; tool: string } | undefined {
  const owners = ids.filter((id) => name.startsWith(`${id}${SEPARATOR}`))
  const [id] = owners.toSorted((one, other) => other.length - one.length)
  return id === undefined ? undefined : { id, tool: name.slice(id.length + SEPARATOR.length) }
}

/** `a__b` with the tool `c` and `a` with the tool `b__c` would get the same name; so would `a_` with `x` and `a` with `_x`. */
const isAmbiguous = (serverId: string): boolean => serverId.includes(SEPARATOR) || serverId.endsWith('_')

/** An entry that is not offered to agents. */
export interface Conflict {
  readonly server_id: string
  readonly kind: 'tool' | 'prompt' | 'resource_template'
  readonly name: string
  readonly reason: string
}

export interface NamedTool<T> {
  /** Its name at the gateway. */
  readonly name: string
  readonly server_id: string
  /** The server's own name. */
  readonly tool: string
  readonly definition: T
}

/** The tools of all servers in a fixed order. Of two names that look alike, the second one is not offered. */
export function nameTools<T>(
  servers: readonly {
    readonly id: string
    readonly tools: readonly {
      readonly name: string
      readonly alias?: string | null
      readonly definition: T
    }[]
  }[],
): { tools: NamedTool<T>[]; conflicts: Conflict[] } {
  const tools: NamedTool<T>[] = []
  const conflicts: Conflict[] = []
  const seen = new Map<string, NamedTool<T>>()
  for (const { id, tools: offered } of servers.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    for (const { name: tool, alias, definition } of offered) {
      const named = { name: gatewayName(id, alias ?? tool), server_id: id, tool, definition }
      const twin = seen.get(normalized(named.name))
      if (twin) {
        const reason = `Its name is too similar to '${twin.tool}' on '${twin.server_id}'. Give one of them an alias`
        conflicts.push({ server_id: id, kind: 'tool', name: tool, reason })
        continue
      }
      seen.set(normalized(named.name), named)
      tools.push(named)
    }
  }
  return { tools, conflicts }
}

/** Equal for names that people and language models confuse. */
const normalized = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[1il|]/g, 'l')
    .replace(/0/g, 'o')
    .replace(/-/g, '_')
