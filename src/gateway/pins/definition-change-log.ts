import type { AuditEntry } from '../../kernel/fact-bus.ts'
import type { Log } from '../../kernel/log.ts'
import type { ToolDiff } from '../../kernel/tool-fields.ts'
import type { PinKind } from '../../servers/shared/catalogues.ts'

interface Deps {
  readonly log: Pick<Log, 'warn'>
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly onError: (error: unknown) => void
}

/** Definitions of one server and kind that have changed, or that are new and held. */
export interface Change {
  readonly server_id: string
  readonly kind: PinKind
  readonly what: 'changed' | 'held'
  readonly names: readonly string[]
  readonly diffs: readonly ToolDiff[]
}

/** The changes since the last entry. */
interface Unwritten {
  readonly server_id: string
  readonly timer: NodeJS.Timeout
  times: number
  last: Change
  readonly names: Set<string>
}

/** Limits the entries of a server that changes its definitions all the time: only the newest audit rows are kept. */
const FIRST_INTERVAL_MS = 60_000
const LONGEST_INTERVAL_MS = 3_600_000
const MAX_NAMES = 50
/** Limits memory when a server has new names all the time. Further names are neither listed nor counted. */
const MAX_COUNTED = 10_000

/**
 * Logs and audits changed definitions: the first change of a list at once, later changes together after a minute, then
 * after intervals that double up to an hour. A list that did not change for an interval starts over.
 */
export class ChangeLog {
  readonly #deps: Deps
  readonly #unwritten = new Map<string, Unwritten>()
  readonly #writes = new Set<Promise<void>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  add(change: Change): void {
    const unwritten = this.#unwritten.get(keyOf(change))
    if (!unwritten) {
      this.#write(change, 1)
      this.#startInterval(change)
      return
    }
    unwritten.times += 1
    unwritten.last = change
    for (const name of change.names) if (unwritten.names.size < MAX_COUNTED) unwritten.names.add(name)
  }

  forget(server_id: string): void {
    for (const [key, unwritten] of this.#unwritten) if (unwritten.server_id === server_id) this.#remove(key)
  }

  /** Writes all changes that wait for the end of their interval. */
  async close(): Promise<void> {
    for (const key of [...this.#unwritten.keys()]) this.#flush(key)
    await Promise.all(this.#writes)
  }

  #startInterval(last: Change, intervalMs = FIRST_INTERVAL_MS): void {
    const key = keyOf(last)
    const timer = setTimeout(() => {
      if (this.#flush(key)) this.#startInterval(last, Math.min(intervalMs * 2, LONGEST_INTERVAL_MS))
    }, intervalMs).unref()
    this.#unwritten.set(key, { server_id: last.server_id, timer, times: 0, last, names: new Set() })
  }

  /** False when there was nothing to write. */
  #flush(key: string): boolean {
    const unwritten = this.#unwritten.get(key)
    this.#remove(key)
    if (!unwritten || unwritten.times === 0) return false
    this.#write({ ...unwritten.last, names: [...unwritten.names] }, unwritten.times)
    return true
  }

  #remove(key: string): void {
    clearTimeout(this.#unwritten.get(key)?.timer)
    this.#unwritten.delete(key)
  }

  #write(change: Change, times: number): void {
    const { log, audit, onError } = this.#deps
    const { server_id, kind, what, names, diffs } = change
    const [first = ''] = names
    const named = {
      [`${kind}s`]: names.slice(0, MAX_NAMES),
      [`${kind}_count`]: names.length,
    }
    const detail = { ...(kind !== 'instructions' && named), times, diffs }
    const tool = kind === 'tool' && names.length === 1 ? { tool: first } : {}
    log.warn({ server_id, ...tool, ...detail }, sentenceOf(change))
    const action = `${kind === 'instructions' ? kind : `${kind}s`}_${what}`
    const write: Promise<void> = audit({ action, subject: server_id, request_id: null, detail })
      .catch(onError)
      .finally(() => this.#writes.delete(write))
    this.#writes.add(write)
  }
}

const keyOf = ({ server_id, kind, what }: Change): string => JSON.stringify([server_id, kind, what])

function sentenceOf({ server_id, kind, what, names }: Change): string {
  const [first = ''] = names
  const isChange = what === 'changed'
  if (kind === 'instructions')
    return `the instructions of '${server_id}' ${isChange ? 'have changed' : 'are new and are waiting for approval'}`
  if (names.length === 1) {
    const one = `the ${kind} '${first.slice(0, 100)}' on '${server_id}'`
    return isChange ? `the definition of ${one} has changed` : `${one} is new and is waiting for approval`
  }
  const all = `${names.length} ${kind}s on '${server_id}'`
  return isChange ? `the definitions of ${all} have changed` : `${all} are new and are waiting for approval`
}
