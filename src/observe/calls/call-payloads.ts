import { type KnownSecrets, redactText } from '../../kernel/secrets/known-secrets.ts'
import type { Vault } from '../../kernel/secrets/vault.ts'
import { RawJson } from '../../mcp/protocol/raw-json.ts'
import type { CallStore, SealedPayload } from './call-store.ts'
import { isHarmless, redactJsonText } from './redact-json.ts'

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
const MOST_CALLS = { memory: 200, disk: 1000 }
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
  readonly #entries: (Entry | undefined)[] = []
  readonly #size: number
  #added = 0
  #redacted = 0
  #timer: NodeJS.Timeout | undefined
  readonly #redactLater = () => void this.#redactInSlices()

  constructor(deps: Deps) {
    this.#deps = deps
    this.#size = MOST_CALLS[deps.mode]
  }

  /** On the path of every call. */
  keep(call_id: number, args: unknown, result: Buffer | string | undefined): void {
    const at = this.#added % this.#size
    this.#added += 1
    try {
      const json = args instanceof RawJson ? args.json : JSON.stringify(args)
      const received = {
        arguments: json === undefined ? undefined : copyOf(json),
        result: result === undefined ? undefined : copyOf(result),
      }
      this.#entries[at] = { call_id, received, redacted: undefined }
    } catch (error) {
      this.#entries[at] = undefined
      this.#deps.onError(error) // a call must not fail because it cannot be kept
    }
    this.#timer ??= setTimeout(this.#redactLater, REDACT_AFTER_MS).unref()
  }

  /** Undefined when nothing is kept of this call. */
  async find(call_id: number): Promise<KeptPayload | undefined> {
    const entry = this.#entries.find((each) => each?.call_id === call_id)
    if (entry) return redacted(entry, this.#deps.secrets)
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
      return this.#deps.vault.open(sealedAs(call_id), sealed) as KeptPayload
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
    const sealed: SealedPayload[] = []
    this.#redacted = Math.max(this.#redacted, this.#added - this.#size)
    while (this.#redacted < this.#added) {
      // The time is not read for every call, because most take a few microseconds.
      if (unmeasured > MEASURED_BYTES) {
        if (performance.now() - startedAt > SLICE_MS) break
        unmeasured = 0
      }
      const entry = this.#entries[this.#redacted % this.#size]
      this.#redacted += 1
      if (!entry) continue
      const { call_id, received } = entry
      unmeasured += (received?.arguments?.length ?? 0) + (received?.result?.length ?? 0)
      const payload = redacted(entry, secrets)
      if (mode === 'disk') sealed.push({ call_id, at: now(), sealed: vault.seal(sealedAs(call_id), payload) })
    }
    if (sealed.length === 0) return
    await store.savePayloads(sealed)
    const saved = new Set(sealed.map(({ call_id }) => call_id))
    for (const [at, entry] of this.#entries.entries())
      if (entry && saved.has(entry.call_id)) this.#entries[at] = undefined
  }
}

const sealedAs = (call_id: number): string => `call:${call_id}`

/** What is kept of one call: as it was received, until it is redacted. */
interface Entry {
  readonly call_id: number
  received: { readonly arguments: Buffer | undefined; readonly result: Buffer | undefined } | undefined
  redacted: KeptPayload | undefined
}

/** Copies the beginning, because it may be a part of a much larger message. The text of a result is ASCII. */
function copyOf(json: string | Buffer): Buffer {
  if (typeof json !== 'string') return Buffer.from(json.subarray(0, MAX_READ_BYTES))
  return Buffer.from(json.length > MAX_READ_BYTES ? json.slice(0, MAX_READ_BYTES) : json)
}

/** Replaces what was received by the redacted payload. */
function redacted(entry: Entry, secrets: KnownSecrets): KeptPayload {
  const { received } = entry
  const kept = (json: Buffer | undefined) => (json ? keptJson(json.toString(), secrets) : null)
  entry.redacted ??= { arguments: kept(received?.arguments), result: kept(received?.result) }
  entry.received = undefined
  return entry.redacted
}

/** The arguments or the result of a call, without secrets. */
export interface KeptJson {
  /** JSON, or the beginning of it. */
  readonly text: string
  /** Whether the end is missing. */
  readonly cut: boolean
  /** Whether secrets were masked. */
  readonly redacted: boolean
}

/** What is kept of one call. Null: the call had none. */
export interface KeptPayload {
  readonly arguments: KeptJson | null
  readonly result: KeptJson | null
}

/** Of the arguments, and of the result. */
const MAX_KEPT_BYTES = 64 * 1024
/** Longer than most secrets. It is read and redacted beyond the limit, so that no part of one is left at the cut. */
const MARGIN_BYTES = 8 * 1024
/** The part of a payload that is needed to keep it. */
const MAX_READ_BYTES = MAX_KEPT_BYTES + MARGIN_BYTES

/** Are written as we write them: a secret is known in that spelling, too. */
const ESCAPES = /(?:\\(?:u[\dA-Fa-f]{4}|["\\/bfnrt]))+/g
/** Also the first half of a character that is written as two. */
const UNFINISHED_ESCAPE = /(?:\\u[Dd][89ABab][\dA-Fa-f]{2})?(?:\\(?:u[\dA-Fa-f]{0,3})?)?$/

/** Masks the secrets, and cuts what is larger than 64 KiB. `json`: at least its first 72 KiB. */
function keptJson(json: string, secrets: KnownSecrets): KeptJson {
  if (Buffer.byteLength(json) > MAX_KEPT_BYTES) return beginning(json, secrets)
  const text = redactJsonText(json, secrets)
  if (text === undefined) return { text: redactText(json, secrets), cut: true, redacted: true }
  return { text, cut: false, redacted: text !== json }
}

function beginning(json: string, secrets: KnownSecrets): KeptJson {
  const isCut = Buffer.byteLength(json) >= MAX_READ_BYTES
  const whole = isCut ? `${json.replace(/\uFFFD+$/, '').replace(UNFINISHED_ESCAPE, '')}…` : json
  const read = whole.replace(ESCAPES, (escapes) => JSON.stringify(JSON.parse(`"${escapes}"`)).slice(1, -1))
  const clean = Buffer.from(isHarmless(read, secrets) ? read : redactText(read, secrets))
  const end = Math.max(0, Math.min(MAX_KEPT_BYTES, clean.length - MARGIN_BYTES))
  return { text: clean.toString('utf8', 0, end).replace(/\uFFFD+$/, ''), cut: true, redacted: true }
}
