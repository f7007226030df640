import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { RawJson } from '../../mcp/protocol/raw-json.ts'
import { type KeptJson, type KeptPayload, keptJson, MAX_KEPT_BYTES, MAX_READ_BYTES } from './kept-payload.ts'
import { isHarmless } from './redact-json.ts'

/** A slot that was larger is made anew for the next call. */
const SMALL_BYTES = 1024
const NOTHING = Buffer.alloc(0)

/**
 * The payload of one call, as bytes outside of the heap that the next call overwrites: objects that stay for 200 calls would
 * survive garbage collections of the young generation.
 */
export class PayloadSlot {
  call_id = 0
  /** Of what is kept, in bytes. Data, because it is read for every call. */
  size = 0
  #bytes: Buffer = NOTHING
  #argumentsEnd = 0
  #end = 0
  #hasArguments = false
  #hasResult = false
  /** Set when the bytes are redacted; undefined while they are as they were received. */
  #kept: 'as received' | KeptPayload | undefined

  /** On the path of every call: copies the bytes, and no more of them than are kept. A text of a result is ASCII. */
  write(call_id: number, args: unknown, result: Buffer | string | undefined): void {
    const json = args instanceof RawJson ? args.json : args === undefined ? '' : JSON.stringify(args)
    const most = Math.min(json.length * 3, MAX_READ_BYTES) + Math.min(result?.length ?? 0, MAX_READ_BYTES)
    if (most > this.#bytes.length || (this.#bytes.length > SMALL_BYTES && most <= SMALL_BYTES))
      this.#bytes = Buffer.allocUnsafeSlow(Math.max(most, SMALL_BYTES))
    this.call_id = call_id
    this.#hasArguments = args !== undefined
    this.#hasResult = result !== undefined
    // Without further arguments, `write` checks none.
    const size =
      typeof json === 'string' ? this.#bytes.write(json) : json.copy(this.#bytes, 0, 0, MAX_READ_BYTES)
    this.#argumentsEnd = size > MAX_READ_BYTES ? MAX_READ_BYTES : size
    this.#end = this.#argumentsEnd
    if (typeof result === 'string') this.#end += this.#bytes.write(result, this.#argumentsEnd, 'latin1')
    else if (result) {
      const kept = result.length > MAX_READ_BYTES ? result.subarray(0, MAX_READ_BYTES) : result
      this.#bytes.set(kept, this.#argumentsEnd)
      this.#end += kept.length
    }
    this.size = this.#end
    this.#kept = undefined
  }

  clear(): void {
    this.call_id = 0
    this.#bytes = NOTHING
    this.#kept = undefined
  }

  /** Replaces the bytes by the redacted payload, unless that is the same. */
  redact(secrets: KnownSecrets): void {
    if (this.#kept !== undefined) return
    const isWhole = this.#end <= MAX_KEPT_BYTES
    if (isWhole && isHarmless(this.#bytes.toString('utf8', 0, this.#end), secrets)) this.#kept = 'as received'
    else this.read(secrets)
  }

  /** The redacted payload. */
  read(secrets: KnownSecrets): KeptPayload {
    if (this.#kept !== undefined && this.#kept !== 'as received') return this.#kept
    const read = (has: boolean, from: number, to: number): KeptJson | null =>
      has ? keptJson(this.#bytes.toString('utf8', from, to), secrets) : null
    const kept = {
      arguments: read(this.#hasArguments, 0, this.#argumentsEnd),
      result: read(this.#hasResult, this.#argumentsEnd, this.#end),
    }
    const isSame = [kept.arguments, kept.result].every(
      (part) => part === null || !(part.redacted || part.cut),
    )
    if (!isSame) this.#bytes = NOTHING
    this.#kept = isSame ? 'as received' : kept
    return kept
  }
}
