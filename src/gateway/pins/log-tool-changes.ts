import type { AuditEntry } from '../../kernel/facts.ts'
import type { Log } from '../../kernel/log.ts'
import type { ToolDiff } from '../../kernel/tool-fields.ts'

interface Deps {
  readonly log: Pick<Log, 'warn'>
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly onError: (error: unknown) => void
}

/** The changes of a server since its last entry. */
interface Unwritten {
  readonly timer: NodeJS.Timeout
  times: number
  diffs: readonly ToolDiff[]
  readonly tools: Set<string>
}

/** Limits the entries of a server that changes its tools all the time. */
const INTERVAL_MS = 60_000
const MAX_NAMES = 50

/** Logs and audits changed definitions: the first change of a server at once, later changes together, once a minute. */
export class ToolChangeLog {
  readonly #deps: Deps
  readonly #unwritten = new Map<string, Unwritten>()
  readonly #writes = new Set<Promise<void>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  add(server_id: string, tools: readonly string[], diffs: readonly ToolDiff[]): void {
    const unwritten = this.#unwritten.get(server_id)
    if (!unwritten) {
      this.#write(server_id, tools, diffs, 1)
      this.#startInterval(server_id)
      return
    }
    unwritten.times += 1
    unwritten.diffs = diffs
    for (const tool of tools) unwritten.tools.add(tool)
  }

  forget(server_id: string): void {
    clearTimeout(this.#unwritten.get(server_id)?.timer)
    this.#unwritten.delete(server_id)
  }

  /** Writes all changes that wait for the end of their interval. */
  async close(): Promise<void> {
    for (const server_id of [...this.#unwritten.keys()]) this.#flush(server_id)
    await Promise.all(this.#writes)
  }

  #startInterval(server_id: string): void {
    const timer = setTimeout(() => {
      if (this.#flush(server_id)) this.#startInterval(server_id)
    }, INTERVAL_MS).unref()
    this.#unwritten.set(server_id, { timer, times: 0, diffs: [], tools: new Set() })
  }

  /** False when there was nothing to write. */
  #flush(server_id: string): boolean {
    const unwritten = this.#unwritten.get(server_id)
    this.forget(server_id)
    if (!unwritten || unwritten.times === 0) return false
    this.#write(server_id, [...unwritten.tools], unwritten.diffs, unwritten.times)
    return true
  }

  #write(server_id: string, tools: readonly string[], diffs: readonly ToolDiff[], times: number): void {
    const { log, audit, onError } = this.#deps
    const [first = ''] = tools
    const message =
      tools.length === 1
        ? `the definition of the tool '${first.slice(0, 100)}' on '${server_id}' has changed`
        : `the definitions of ${tools.length} tools on '${server_id}' have changed`
    const detail = { tools: tools.slice(0, MAX_NAMES), tool_count: tools.length, times, diffs }
    log.warn({ server_id, ...(tools.length === 1 && { tool: first }), ...detail }, message)
    const entry = { action: 'tools_changed', subject: server_id, request_id: null, detail }
    const write: Promise<void> = audit(entry)
      .catch(onError)
      .finally(() => this.#writes.delete(write))
    this.#writes.add(write)
  }
}
