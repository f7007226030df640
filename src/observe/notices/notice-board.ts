import { type Cause, type Kind, keyOf, type Notice, RULES } from './notices.schema.ts'

interface Deps {
  /** Wall-clock time, for people. */
  readonly now: () => number
  /** Monotonic time in ms. */
  readonly clock: () => number
  /** Masks secrets in text that Toolroom did not write. */
  readonly redact: (text: string) => string
  /** Called with each notice that is new or has changed. */
  readonly onChange: (notice: Notice) => void
}

interface Open {
  notice: Notice
  /** As it was last reported, before it was redacted; undefined for a notice of an earlier run. */
  cause: Cause | undefined
  /** Since when the cause is gone, on the monotonic clock; undefined while it exists. */
  goneAt: number | undefined
}

/** How long a cause must be gone before its notice is resolved. */
export const RESOLVE_AFTER_MS = 10_000
/** Of a text, and of its evidence. */
const MAX_CHARACTERS = 2000
/** How many resolved notices are kept. */
export const MAX_RESOLVED = 1000

/**
 * All notices. A cause opens at most one of them: while it is open, the same cause only counts again. It is resolved when
 * its cause has been gone for ten seconds, so that a crash is seen even if the server is back after 20 ms.
 */
export class NoticeBoard {
  readonly #deps: Deps
  readonly #open = new Map<string, Open>()
  /** Newest last. */
  #resolved: Notice[] = []
  #lastId = 0

  /** `stored`: the notices of earlier runs. Open ones stay open until it is known that their cause is gone. */
  constructor(deps: Deps, stored: readonly Notice[]) {
    this.#deps = deps
    for (const notice of [...stored].sort((a, b) => a.id - b.id)) {
      this.#lastId = notice.id
      if (notice.resolved_at !== null) this.#resolved.push(notice)
      else {
        const isSeenEvent = notice.seen_at !== null && RULES[notice.kind].untilSeen
        this.#open.set(keyOf(notice), {
          notice,
          cause: undefined,
          goneAt: isSeenEvent ? deps.clock() : undefined,
        })
      }
    }
  }

  /** Newest first. */
  get open(): Notice[] {
    return [...this.#open.values()].map(({ notice }) => notice).sort((a, b) => b.id - a.id)
  }

  /** Newest first. */
  get all(): Notice[] {
    return [...this.open, ...this.#resolved].sort((a, b) => b.id - a.id)
  }

  /** Whether the cause of an open notice exists now. */
  isPresent(notice: Notice): boolean {
    const open = this.#open.get(keyOf(notice))
    return open?.notice.id === notice.id && open.goneAt === undefined
  }

  find(id: number): Notice | undefined {
    return this.all.find((notice) => notice.id === id)
  }

  /** The cause has just occurred, perhaps again. `isOver`: it is gone already. */
  happened(cause: Cause, isOver = false): void {
    const open = this.#open.get(keyOf(cause))
    if (open) this.#repeat(open, cause)
    else this.#add(cause)
    const current = this.#open.get(keyOf(cause))
    if (current && isOver) current.goneAt = this.#deps.clock()
  }

  /**
   * These causes exist now, and no others of these kinds. `isUnsettled`: whether that is not known of a notice, so that it
   * stays as it is.
   */
  exist(
    kinds: readonly Kind[],
    causes: readonly Cause[],
    isUnsettled: (notice: Notice) => boolean = () => false,
  ): void {
    const existing = new Set(causes.map(keyOf))
    for (const [key, open] of this.#open) {
      if (existing.has(key) || !kinds.includes(open.notice.kind) || isUnsettled(open.notice)) continue
      open.goneAt ??= this.#deps.clock()
    }
    for (const cause of causes) {
      const open = this.#open.get(keyOf(cause))
      if (!open) this.#add(cause)
      else if (open.goneAt !== undefined) this.#repeat(open, cause)
      else if (open.cause?.text !== cause.text) this.#change(open, cause)
      else if (open.cause.evidence !== cause.evidence) this.#update(open, cause) // such as a growing number
    }
  }

  /** Marks a notice as seen. */
  see(id: number): Notice | undefined {
    const notice = this.find(id)
    if (!notice || notice.seen_at !== null) return notice
    const seen = { ...notice, seen_at: this.#deps.now() }
    const open = this.#open.get(keyOf(notice))
    if (open?.notice.id === id) {
      open.notice = seen
      if (RULES[seen.kind].untilSeen) open.goneAt = this.#deps.clock()
    } else this.#resolved = this.#resolved.map((each) => (each.id === id ? seen : each))
    this.#deps.onChange(seen)
    return seen
  }

  /** Resolves the notices whose cause has been gone for long enough. Returns the ids of those that are not kept any longer. */
  resolve(): number[] {
    const before = this.#deps.clock() - RESOLVE_AFTER_MS
    for (const [key, { goneAt }] of this.#open) if (goneAt !== undefined && goneAt <= before) this.#end(key)
    const forgotten = this.#resolved.slice(0, -MAX_RESOLVED)
    this.#resolved = this.#resolved.slice(-MAX_RESOLVED)
    return forgotten.map(({ id }) => id)
  }

  /** Resolves the notices about a server that no longer exists. */
  forgetServer(server_id: string): void {
    for (const [key, { notice }] of this.#open) if (notice.server_id === server_id) this.#end(key)
  }

  #add(cause: Cause): void {
    this.#lastId += 1
    const notice = {
      ...this.#cleaned(cause),
      id: this.#lastId,
      at: this.#deps.now(),
      count: 1,
      seen_at: null,
      resolved_at: null,
    }
    this.#open.set(keyOf(cause), { notice, cause, goneAt: undefined })
    this.#deps.onChange(notice)
  }

  #repeat(open: Open, cause: Cause): void {
    open.goneAt = undefined
    this.#change(open, cause, { count: open.notice.count + 1, seen_at: null })
  }

  #change(open: Open, cause: Cause, more: Partial<Notice> = {}): void {
    this.#update(open, cause, more)
    this.#deps.onChange(open.notice)
  }

  #update(open: Open, cause: Cause, more: Partial<Notice> = {}): void {
    open.cause = cause
    open.notice = { ...open.notice, ...this.#cleaned(cause), ...more }
  }

  #cleaned(cause: Cause): Cause {
    const { redact } = this.#deps
    const evidence = cause.evidence && redact(cause.evidence).slice(0, MAX_CHARACTERS)
    return { ...cause, text: redact(cause.text).slice(0, MAX_CHARACTERS), evidence }
  }

  #end(key: string): void {
    const open = this.#open.get(key)
    if (!open) return
    this.#open.delete(key)
    const resolved = { ...open.notice, resolved_at: this.#deps.now() }
    this.#resolved.push(resolved)
    this.#deps.onChange(resolved)
  }
}
