import type { LogLine } from '../api.ts'
import type { CompletedCall, PackageProgress, StartedCall } from './live-messages.ts'

/** Events that pages show one by one, in the moment they happen. Everything else is in the query cache. */

type Listener<T> = (value: T) => void

class Feed<T> {
  readonly #listeners = new Set<Listener<T>>()

  on(listener: Listener<T>): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  publish(value: T): void {
    for (const listener of this.#listeners) listener(value)
  }
}

export const callsStarted = new Feed<StartedCall & { readonly ts: string }>()
export const callsCompleted = new Feed<CompletedCall & { readonly ts: string }>()
export const logLines = new Feed<Omit<LogLine, 'id'> & { readonly id: number | null }>()
export const packageProgress = new Feed<PackageProgress>()
/** The number of messages that the service dropped because this tab was too slow. */
export const droppedMessages = new Feed<number>()
