import type { AuditEntry } from '../../kernel/facts.ts'
import type { Log } from '../../kernel/log.ts'
import type { ToolDiff } from '../../kernel/tool-fields.ts'

interface Deps {
  readonly log: Pick<Log, 'warn'>
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly onTrouble: (error: unknown) => void
  readonly pauseMs?: number
}

/** What a server has changed since the last line about it. */
interface Waiting {
  timer: NodeJS.Timeout
  times: number
  diffs: readonly ToolDiff[]
  readonly tools: Set<string>
}

/** A server that changes its tools all the time must not fill the log and the audit trail. */
const PAUSE_MS = 60_000
const MOST_NAMES = 50

/** Writes down which definitions have changed: at once, and what follows within a minute together. */
export class ChangeNotes {
  readonly #deps: Deps
  readonly #waiting = new Map<string, Waiting>()
  readonly #writing = new Set<Promise<void>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  changed(server_id: string, tools: readonly string[], diffs: readonly ToolDiff[]): void {
    const waiting = this.#waiting.get(server_id)
    if (!waiting) {
      this.#write(server_id, tools, diffs, 1)
      this.#waiting.set(server_id, this.#pause(server_id))
      return
    }
    waiting.times += 1
    waiting.diffs = diffs
    for (const tool of tools) waiting.tools.add(tool)
  }

  forget(server_id: string): void {
    clearTimeout(this.#waiting.get(server_id)?.timer)
    this.#waiting.delete(server_id)
  }

  /** What waits is written now. */
  async close(): Promise<void> {
    for (const server_id of [...this.#waiting.keys()]) {
      this.#writeWaiting(server_id)
      this.forget(server_id)
    }
    await Promise.all(this.#writing)
  }

  #pause(server_id: string): Waiting {
    const timer = setTimeout(() => {
      const wrote = this.#writeWaiting(server_id)
      this.forget(server_id)
      if (wrote) this.#waiting.set(server_id, this.#pause(server_id))
    }, this.#deps.pauseMs ?? PAUSE_MS).unref()
    return { timer, times: 0, diffs: [], tools: new Set() }
  }

  #writeWaiting(server_id: string): boolean {
    const { times, tools, diffs } = this.#waiting.get(server_id) ?? { times: 0 }
    if (times === 0 || !tools || !diffs) return false
    this.#write(server_id, [...tools], diffs, times)
    return true
  }

  #write(server_id: string, tools: readonly string[], diffs: readonly ToolDiff[], times: number): void {
    const [first = ''] = tools
    const subject =
      tools.length === 1
        ? `the definition of the tool '${first.slice(0, 100)}' of '${server_id}' has changed`
        : `the definitions of ${tools.length} tools of '${server_id}' have changed`
    const detail = { tools: tools.slice(0, MOST_NAMES), tool_count: tools.length, times, diffs }
    this.#deps.log.warn({ server_id, ...(tools.length === 1 && { tool: first }), ...detail }, subject)
    const entry = { action: 'tools_changed', subject: server_id, request_id: null, detail }
    const written: Promise<void> = this.#deps
      .audit(entry)
      .catch(this.#deps.onTrouble)
      .finally(() => this.#writing.delete(written))
    this.#writing.add(written)
  }
}
