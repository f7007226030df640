import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import type { Vault } from '../../kernel/secrets/vault.ts'
import type { CallStore, SealedPayload } from './call-store.ts'
import type { KeptPayload } from './kept-payload.ts'
import { PayloadSlot } from './payload-slot.ts'

export type PayloadMode = 'off' | 'memory' | 'disk'

interface Deps {
  readonly mode: Exclude<PayloadMode, 'off'>
  readonly store: Pick<CallStore, 'savePayloads' | 'payload'>
  readonly secrets: KnownSecrets
  readonly vault: Vault
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

/** How many calls are kept in memory: the newest ones, or those that wait to be written. */
const SLOTS = { memory: 200, disk: 1000 }
/** A call is redacted after it was answered, together with others, so that its own response does not wait. */
const REDACT_AFTER_MS = 500
/** How long redaction may block other work. */
const SLICE_MS = 2
/** After this much the time is read. */
const MEASURED_BYTES = 4096
/**
 * In memory, redaction takes at most this part of the time. Large payloads are replaced sooner than that under load, and
 * reading one redacts it.
 */
const MEMORY_SHARE = 0.04

/** Keeps the arguments and results of calls, redacted: in memory, or encrypted on disk. */
export class CallPayloads {
  readonly #deps: Deps
  /** A ring: a new call replaces the oldest one. */
  readonly #slots: PayloadSlot[] = []
  readonly #size: number
  #added = 0
  #redacted = 0
  #timer: NodeJS.Timeout | undefined
  readonly #redactLater = () => void this.#redactInSlices()

  constructor(deps: Deps) {
    this.#deps = deps
    this.#size = SLOTS[deps.mode]
  }

  /** On the path of every call. */
  keep(call_id: number, args: unknown, result: Buffer | string | undefined): void {
    const at = this.#added % this.#size
    const slot = this.#slots[at] ?? new PayloadSlot()
    this.#slots[at] = slot
    this.#added += 1
    try {
      slot.write(call_id, args, result)
    } catch (error) {
      slot.clear()
      this.#deps.onError(error) // a call must not fail because it cannot be kept
    }
    this.#timer ??= setTimeout(this.#redactLater, REDACT_AFTER_MS).unref()
  }

  /** Undefined when nothing is kept of this call. */
  async find(call_id: number): Promise<KeptPayload | undefined> {
    const slot = this.#slots.find((each) => each.call_id === call_id)
    if (slot) return slot.read(this.#deps.secrets)
    if (this.#deps.mode === 'memory') return undefined
    const sealed = await this.#deps.store.payload(call_id)
    return sealed === undefined ? undefined : this.#opened(call_id, sealed)
  }

  /** Writes what is still in memory. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    while (this.#redacted < this.#added) await this.#redactSome()
  }

  #opened(call_id: number, sealed: string): KeptPayload | undefined {
    try {
      return this.#deps.vault.open(placeOf(call_id), sealed) as KeptPayload
    } catch {
      return undefined // written with another key, or damaged
    }
  }

  async #redactInSlices(): Promise<void> {
    const startedAt = performance.now()
    await this.#redactSome().catch(this.#deps.onError)
    const isDone = this.#redacted >= this.#added
    const pauseMs = this.#deps.mode === 'memory' ? (performance.now() - startedAt) / MEMORY_SHARE : SLICE_MS
    this.#timer = isDone ? undefined : setTimeout(this.#redactLater, pauseMs).unref()
  }

  /** Calls that were replaced meanwhile are skipped. */
  async #redactSome(): Promise<void> {
    const { mode, vault, secrets, now, store } = this.#deps
    const startedAt = performance.now()
    let unmeasured = 0
    const saved: PayloadSlot[] = []
    const sealed: SealedPayload[] = []
    this.#redacted = Math.max(this.#redacted, this.#added - this.#size)
    while (this.#redacted < this.#added) {
      // The time is not read for every call, because most take a few microseconds.
      if (unmeasured > MEASURED_BYTES) {
        if (performance.now() - startedAt > SLICE_MS) break
        unmeasured = 0
      }
      const slot = this.#slots[this.#redacted % this.#size]
      this.#redacted += 1
      if (!slot) continue
      unmeasured += slot.size
      if (mode === 'memory') slot.redact(secrets)
      else {
        const { call_id } = slot
        saved.push(slot)
        sealed.push({ call_id, at: now(), sealed: vault.seal(placeOf(call_id), slot.read(secrets)) })
      }
    }
    if (sealed.length === 0) return
    await store.savePayloads(sealed)
    for (const [index, slot] of saved.entries()) if (slot.call_id === sealed[index]?.call_id) slot.clear()
  }
}

const placeOf = (call_id: number): string => `call:${call_id}`
