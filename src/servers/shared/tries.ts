import { createHash } from 'node:crypto'
import type { RepairAction } from '../../kernel/repair-action.ts'
import type { LastError } from '../../kernel/server-state.ts'
import { isoTime } from '../../kernel/time.ts'
import type { DiscoveredServer } from './catalogues.ts'

/** How a start of a server went, or a connection to it. */
export interface Outcome {
  /** Why it failed. Null if it completed the handshake, listed its tools, and has not crashed since. */
  readonly error: LastError | null
  /** Its process had been started. */
  readonly crashed?: boolean
  /** There was no process, because of something that can be seen without a start. */
  readonly obstructed?: boolean
}

/** The last one, secrets masked. */
export interface Try extends Outcome {
  readonly at: number
}

/** With the digest of the definition that was tried. */
export interface StoredTry extends Try {
  readonly definition: string
}

/** A try of a definition that no server had. */
export interface Trial extends Try {
  /** What it listed. */
  readonly found: DiscoveredServer | undefined
}

/** Keeps tries across restarts of Toolroom. `store/` implements it. */
export interface TryStore {
  all(): Promise<ReadonlyMap<string, StoredTry>>
  /** Undefined: it is forgotten. Skips servers that have been deleted. */
  save(changed: ReadonlyMap<string, StoredTry | undefined>): Promise<void>
}

interface Deps {
  readonly store: TryStore
  /** Masks secrets in what a server wrote. */
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

/** Tries of servers that start together are saved in one transaction. */
const SAVE_AFTER_MS = 250
const MAX_CHARACTERS = 4000
const MAX_TRIALS = 100
const MAX_TRIAL_CHARACTERS = 32 * 1024 * 1024

/**
 * The last try of each server, as long as its definition is the one that was tried. What refers to a secret, a variable or
 * a package is another definition when these have changed.
 */
export class Tries {
  readonly #deps: Deps
  readonly #byServer: Map<string, StoredTry>
  readonly #unsaved = new Set<string>()
  /** By the digest of the definition, until Toolroom ends. */
  readonly #trials = new Map<string, { readonly trial: Trial; readonly characters: number }>()
  #timer: NodeJS.Timeout | undefined

  private constructor(deps: Deps, stored: ReadonlyMap<string, StoredTry>) {
    this.#deps = deps
    this.#byServer = new Map(stored)
  }

  static async open(deps: Deps): Promise<Tries> {
    return new Tries(deps, await deps.store.all())
  }

  /** The same object until it is tried again. Null: it was not tried since its definition last changed. */
  of(id: string): Try | null {
    return this.#byServer.get(id) ?? null
  }

  /** A check of an HTTP server often has the same result. Then only its time is new, which is saved when Toolroom ends. */
  record(id: string, definition: string, { error, ...rest }: Outcome, at = this.#deps.now()): void {
    const { redact } = this.#deps
    const clean = (text: string) => redact(text).slice(0, MAX_CHARACTERS)
    const cleaned = error && {
      code: error.code,
      message: clean(error.message),
      hint: error.hint && clean(error.hint),
      action: error.action && masked(error.action, clean),
    }
    const before = this.#byServer.get(id)
    const next = { at, error: cleaned, ...rest, definition }
    this.#byServer.set(id, next)
    this.#changed(
      id,
      before !== undefined && JSON.stringify({ ...before, at: next.at }) === JSON.stringify(next),
    )
  }

  /** It counts for a server that is added with exactly this definition. The oldest ones are forgotten. */
  keepTrial(definition: string, outcome: Outcome, found?: DiscoveredServer): void {
    const trial = { at: this.#deps.now(), found, ...outcome }
    this.#trials.delete(definition)
    this.#trials.set(definition, { trial, characters: JSON.stringify(found ?? null).length })
    let characters = 0
    let count = 0
    for (const [key, each] of [...this.#trials].reverse()) {
      characters += each.characters
      count += 1
      if (count > MAX_TRIALS || characters > MAX_TRIAL_CHARACTERS) this.#trials.delete(key)
    }
  }

  trialOf(definition: string): Trial | undefined {
    return this.#trials.get(definition)?.trial
  }

  /** Forgets a try of another definition than this one, which is the current one. */
  compare(id: string, definition: string): void {
    const known = this.#byServer.get(id)
    if (known === undefined || known.definition === definition) return
    this.#byServer.delete(id)
    this.#changed(id)
  }

  /** Called after the server and its row have been deleted. */
  forget(id: string): void {
    this.#byServer.delete(id)
    this.#unsaved.delete(id)
  }

  /** Saves what was not saved yet. Called a moment after each change, and before the service ends. */
  async save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const changed = new Map([...this.#unsaved].map((id) => [id, this.#byServer.get(id)]))
    this.#unsaved.clear()
    if (changed.size === 0) return
    try {
      await this.#deps.store.save(changed)
    } catch (error) {
      for (const id of changed.keys()) this.#unsaved.add(id) // saved with the next change
      this.#deps.onError(error)
    }
  }

  #changed(id: string, isRepeated = false): void {
    this.#unsaved.add(id)
    if (!isRepeated) this.#timer ??= setTimeout(() => void this.save(), SAVE_AFTER_MS)
  }
}

/** The names and paths of an action come from a definition, or from what the server wrote. */
const masked = (action: RepairAction, clean: (text: string) => string): RepairAction =>
  Object.fromEntries(
    Object.entries(action).map(([key, value]) => [key, typeof value === 'string' ? clean(value) : value]),
  ) as RepairAction

/** Tells two definitions apart. It is derived from secrets, so it is stored encrypted. */
export const digestOf = (definition: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(definition)).digest('base64')

/** As views show it. */
export const tryView = (last: Try | null) =>
  last && { at: isoTime(last.at), ok: last.error === null, code: last.error?.code ?? null }
