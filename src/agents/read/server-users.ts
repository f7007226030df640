import type { FactBus, Facts } from '../../kernel/fact-bus.ts'
import { GATEWAY_ENTRY } from '../catalogue/gateway-entry.ts'
import type { FileRecord } from '../files/ownership-store.ts'

interface Deps {
  readonly facts: FactBus
  readonly records: () => readonly FileRecord[]
  /** Finds the agents that have an entry of their own for a server, by server. Reads files. */
  readonly findLinks: () => Promise<ReadonlyMap<string, ReadonlySet<string>>>
  /** The keys of agents, and which servers an agent may use at the gateway. */
  readonly keys: () => readonly { readonly id: string; readonly agent_type: string }[]
  readonly mayUse: (serverId: string, agentType: string) => boolean
  readonly onTrouble: (sentence: string, error: unknown) => void
}

/** Many changes at once, such as an import, are one. */
const SETTLE_MS = 50

const NONE: readonly string[] = []
const CHANGES: readonly (keyof Facts)[] = [
  'audited',
  'server_added',
  'server_updated',
  'server_removed',
  'agent_changed',
  'agent_tools_changed',
  'secret_changed',
]

/**
 * The agents that use each server: by an entry of their own, or through the gateway. Answered from memory, because every
 * list of servers shows it; the same list is returned until it changes.
 */
export class ServerUsers {
  readonly #deps: Deps
  readonly #unsubscribe: (() => void)[]
  readonly #users = new Map<string, readonly string[]>()
  #links: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  #types: Types | undefined
  #isCurrent = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: Deps) {
    this.#deps = deps
    this.#unsubscribe = CHANGES.map((kind) => deps.facts.on(kind, () => this.#changed(kind !== 'audited')))
  }

  of(serverId: string): readonly string[] {
    const known = this.#users.get(serverId)
    if (known && this.#isCurrent.has(serverId)) return known
    this.#types ??= typesOf(this.#deps.records(), this.#deps.keys())
    const { direct, gateway } = this.#types
    const users = new Set([
      ...(direct.get(serverId) ?? []),
      ...(this.#links.get(serverId) ?? []),
      ...gateway.filter((type) => this.#deps.mayUse(serverId, type)),
    ])
    const next = users.size === 0 ? NONE : [...users].sort()
    const isSame = known?.length === next.length && next.every((type, index) => type === known[index])
    if (!isSame) this.#users.set(serverId, next)
    this.#isCurrent.add(serverId)
    return isSame ? known : next
  }

  /** Reads the files. Later they are read again after each change. */
  async open(): Promise<void> {
    if (this.#closed) return
    this.#links = await this.#deps.findLinks()
    this.#isCurrent = new Set()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const end of this.#unsubscribe) end()
  }

  #changed(mayChangeLinks: boolean): void {
    this.#types = undefined
    this.#isCurrent = new Set()
    if (!mayChangeLinks || this.#closed) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.open().catch((error: unknown) => this.#deps.onTrouble("agents' entries could not be read", error))
    }, SETTLE_MS).unref()
  }
}

interface Types {
  /** Agents with an entry that Toolroom wrote for a server. */
  readonly direct: ReadonlyMap<string, ReadonlySet<string>>
  /** Agents that reach all servers through the gateway. */
  readonly gateway: readonly string[]
}

/** A key in a file without an entry for all servers opens the servers of its entries only. */
function typesOf(
  records: readonly FileRecord[],
  keys: readonly { readonly id: string; readonly agent_type: string }[],
): Types {
  const direct = new Map<string, Set<string>>()
  const limited = new Set<string>()
  for (const { agent_type, entries, keys: own = [] } of records) {
    if (!Object.hasOwn(entries, GATEWAY_ENTRY)) for (const id of own) limited.add(id)
    for (const { server_id, parked } of Object.values(entries))
      if (server_id !== null && parked === null)
        direct.set(server_id, (direct.get(server_id) ?? new Set()).add(agent_type))
  }
  const gateway = new Set(keys.filter(({ id }) => !limited.has(id)).map(({ agent_type }) => agent_type))
  return { direct, gateway: [...gateway] }
}
