import { nearest } from '../../kernel/did-you-mean.ts'
import { AppError } from '../../kernel/errors.ts'
import { slugOf } from '../../kernel/rest-parts.ts'
import { within } from '../../kernel/time-limit.ts'
import type { CallResult } from '../../mcp/protocol/call-options.ts'
import { type CallRecorder, mayHaveTool } from './call-recorder.ts'
import type { Catalogue, Catalogues } from './catalogues.ts'
import type { ServerRecord } from './server-fields.ts'
import type { OfferSettings } from './tool-settings.ts'
import type { RelayedRequest, ToolCall, Upstream } from './upstream.ts'

/** How long a list of one server waits for its start. After that, the list is announced as a change. */
const WAKE_MS = 2000
const REFRESH_MS = 5000

/** All servers of both kinds, by id. Each kind adds and removes its own. */
export class Upstreams {
  readonly #byId = new Map<string, Upstream>()

  get(id: string): Upstream | undefined {
    return this.#byId.get(id)
  }

  all(): Upstream[] {
    return [...this.#byId.values()]
  }

  add(upstream: Upstream): void {
    this.#byId.set(upstream.id, upstream)
  }

  remove(id: string): void {
    this.#byId.delete(id)
  }

  /** Where the server with this id or name is, if it is of the other kind, or the id that was probably meant. */
  hintFor(key: string, kind?: Upstream['kind']): string | undefined {
    const found = this.#byId.get(key) ?? this.#byId.get(slugOf(key.slice(0, 100)))
    if (found && found.kind !== kind) return `'${found.id}' is ${describe(found)}`
    const id = nearest(key, this.#byId.keys())
    const meant = id === undefined ? undefined : this.#byId.get(id)
    if (!meant) return undefined
    return kind === undefined || meant.kind === kind
      ? `Did you mean '${meant.id}'?`
      : `Did you mean '${meant.id}'? It is ${describe(meant)}`
  }

  /** Throws when there is no such server. */
  call(id: string, call: ToolCall): Promise<CallResult> {
    return (this.#byId.get(id) ?? notFound(id)).call(call)
  }

  /** Throws when there is no such server. */
  relay(id: string, request: RelayedRequest): Promise<CallResult> {
    return (this.#byId.get(id) ?? notFound(id)).relay(request)
  }

  /**
   * Lists the tools of a server again for a call of a tool that it does not have: it may have announced the tool with its
   * last result. Waits a moment only, and ignores failures.
   */
  async refreshFor(id: string, tool: string): Promise<void> {
    const upstream = this.#byId.get(id)
    if (!upstream?.catalogue || mayHaveTool(upstream.catalogue, tool)) return
    const refreshed = upstream.refresh({ options: {} }).catch(() => {}) // the last known list stays valid
    await within(refreshed, REFRESH_MS)
  }

  /** Starts sleeping servers whose tools are not known yet. The tools are announced as a change. */
  wake(ids: readonly string[]): void {
    for (const id of ids) void this.#byId.get(id)?.wake()
  }

  /** The same for one server. Waits a moment for it. */
  async awake(id: string): Promise<void> {
    const waking = this.#byId.get(id)?.wake()
    if (waking !== undefined) await within(waking, WAKE_MS)
  }
}

const describe = ({ id, kind }: Upstream): string =>
  kind === 'http' ? `an HTTP server, at /api/http-servers/${id}` : `a STDIO server, at /api/servers/${id}`

function notFound(id: string): never {
  throw new AppError('not_found', `No server has the id '${id}'`)
}

export interface UpstreamDeps {
  readonly catalogues: Catalogues
  readonly calls: CallRecorder
}

/** The part of an upstream that is the same for both kinds of server. */
export abstract class RegisteredUpstream<S extends ServerRecord, D extends UpstreamDeps> {
  readonly id: string
  /** The record as it is stored now. */
  protected server: S
  protected readonly deps: D

  constructor(server: S, deps: D) {
    this.id = server.id
    this.server = server
    this.deps = deps
  }

  update(server: S): void {
    this.server = server
  }

  get name(): string {
    return this.server.name
  }

  get settings(): OfferSettings {
    return this.server
  }

  get catalogue(): Catalogue | undefined {
    return this.deps.catalogues.of(this.id)
  }
}
