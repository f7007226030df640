/** Identifies a client: by its session or, because a modern one has none, by its key. */
interface Client {
  readonly session: { readonly id: string } | undefined
  readonly keyId: string
}

const MAX_CLIENTS = 2000

/** The server of the page that each client has read last. The page calls the tools of its server by their own names. */
export class LastPages {
  readonly #servers = new Map<string, string>()

  serverOf(client: Client): string | undefined {
    return this.#servers.get(idOf(client))
  }

  /** At the limit, the client that has read no page for the longest time is dropped. */
  record(client: Client, serverId: string): void {
    const id = idOf(client)
    this.#servers.delete(id)
    this.#servers.set(id, serverId)
    if (this.#servers.size <= MAX_CLIENTS) return
    const [oldest] = this.#servers.keys()
    if (oldest !== undefined) this.#servers.delete(oldest)
  }
}

const idOf = ({ session, keyId }: Client): string => session?.id ?? keyId
