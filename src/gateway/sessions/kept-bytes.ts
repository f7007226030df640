import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { RpcError } from '../messages/rpc-error.ts'

const MIB = 1024 * 1024
export interface KeptLimits {
  readonly ofKey: number
  readonly ofAll: number
}
const LIMITS: KeptLimits = { ofKey: 64 * MIB, ofAll: 256 * MIB }

/** What every session, subscription, stream or pending request takes beside its texts. */
export const ENTRY_BYTES = 16 * 1024
/** JSON that was parsed takes up to this much memory per byte. */
export const PARSED_FACTOR = 4

/**
 * Counts the bytes that are kept for agents: their sessions, subscriptions and streams, their pending requests, and bodies
 * that have not arrived completely. What would exceed the limit of its key, or of all keys together, is refused.
 */
export class KeptBytes {
  readonly #limits: KeptLimits
  readonly #ofKeys = new Map<string, number>()
  #ofAll = 0

  constructor(limits = LIMITS) {
    this.#limits = limits
  }

  /** Throws when that is too much. */
  take(keyId: string, bytes: number): void {
    const ofKey = (this.#ofKeys.get(keyId) ?? 0) + bytes
    if (ofKey > this.#limits.ofKey || this.#ofAll + bytes > this.#limits.ofAll)
      throw tooMuch(ofKey > this.#limits.ofKey ? 'this gateway key' : 'all agents', this.#limits)
    this.#ofKeys.set(keyId, ofKey)
    this.#ofAll += bytes
  }

  /** `bytes`: as taken. */
  free(keyId: string, bytes: number): void {
    const ofKey = (this.#ofKeys.get(keyId) ?? 0) - bytes
    if (ofKey > 0) this.#ofKeys.set(keyId, ofKey)
    else this.#ofKeys.delete(keyId)
    this.#ofAll -= bytes
  }

  /** The same for one key. */
  ofKey(keyId: string) {
    return {
      take: (bytes: number) => this.take(keyId, bytes),
      free: (bytes: number) => this.free(keyId, bytes),
    }
  }
}

function tooMuch(whose: string, { ofKey, ofAll }: KeptLimits): RpcError {
  const most = (whose === 'all agents' ? ofAll : ofKey) / MIB
  const message = `Toolroom keeps at most ${most} MiB for ${whose}: sessions, subscriptions and pending requests`
  return new RpcError(CODES.tooMany, message, {
    status: 429,
    data: { code: 'too_much_kept', hint: 'Wait for pending requests, or end sessions and subscriptions' },
  })
}
