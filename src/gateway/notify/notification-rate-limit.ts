import { DropCounter } from './drop-counter.ts'

const PER_SECOND = 1000
const REPORT_MS = 1000

interface Bucket {
  left: number
  filledAt: number
  readonly drops: DropCounter
}

/** Limits the notifications of each server, because every one of them is sent to all subscribers. */
export class NotificationRateLimit {
  readonly #buckets = new Map<string, Bucket>()
  readonly #now: () => number
  readonly #onDropped: (serverId: string, count: number) => void

  /** `now` must be monotonic. */
  constructor(now: () => number, onDropped: (serverId: string, count: number) => void) {
    this.#now = now
    this.#onDropped = onDropped
  }

  /** False when the limit is reached. */
  take(serverId: string): boolean {
    const bucket = this.#bucket(serverId)
    const now = this.#now()
    bucket.left = Math.min(PER_SECOND, bucket.left + ((now - bucket.filledAt) * PER_SECOND) / 1000)
    bucket.filledAt = now
    if (bucket.left >= 1) {
      bucket.left -= 1
      return true
    }
    bucket.drops.add()
    return false
  }

  forget(serverId: string): void {
    this.#buckets.delete(serverId)
  }

  #bucket(serverId: string): Bucket {
    let bucket = this.#buckets.get(serverId)
    if (!bucket) {
      const drops = new DropCounter(REPORT_MS, (count) => this.#onDropped(serverId, count))
      bucket = { left: PER_SECOND, filledAt: this.#now(), drops }
      this.#buckets.set(serverId, bucket)
    }
    return bucket
  }
}
