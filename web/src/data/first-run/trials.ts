import { useSyncExternalStore } from 'react'
import { api, type Schemas } from '../api.ts'
import { namedOutgoing } from '../outgoing.ts'
import { queryClient } from '../query-client.ts'
import type { ImportItem } from './first-run.ts'

/** Servers of agents' files that are tried before they are imported, a few at a time. What was found stays until a reload. */

export type Trial =
  | { readonly state: 'waiting' }
  | { readonly state: 'running' }
  | { readonly state: 'done'; readonly report: Schemas['EntryTrial'] }
  | { readonly state: 'failed'; readonly message: string }

const AT_ONCE = 3

interface Trials {
  /** Every chosen server is tried. */
  readonly isOn: boolean
  readonly of: (item: ImportItem) => Trial | undefined
}

const known = new Map<string, Trial>()
const waiting = new Map<string, ImportItem>()
const listeners = new Set<() => void>()
let running = 0
let trials: Trials = { isOn: false, of: () => undefined }

export const useTrials = (): Trials => useSyncExternalStore(subscribe, () => trials)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Tries those that were not tried yet, from now on also those that are chosen later. */
export function tryEach(items: readonly ImportItem[]): void {
  for (const item of items) if (!known.has(keyOf(item))) waiting.set(keyOf(item), item)
  fill(true)
}

export function tryAgain(item: ImportItem): void {
  waiting.set(keyOf(item), item)
  fill(trials.isOn)
}

/** Those that have not begun are not tried. */
export function stopTrying(): void {
  for (const key of waiting.keys()) known.delete(key)
  waiting.clear()
  fill(false)
}

function fill(isOn: boolean): void {
  for (const [key, item] of waiting) {
    if (running >= AT_ONCE) {
      known.set(key, { state: 'waiting' })
      continue
    }
    waiting.delete(key)
    running += 1
    known.set(key, { state: 'running' })
    void trialOf(item).then((trial) => {
      running -= 1
      known.set(key, trial)
      fill(trials.isOn)
      // It counts for a server that was imported meanwhile, and its tools are known.
      for (const queryKey of [['servers'], ['agents', 'action']])
        void queryClient.invalidateQueries({ queryKey })
    })
  }
  trials = { isOn, of: (item) => known.get(keyOf(item)) }
  for (const listener of listeners) listener()
}

async function trialOf({ found_in: [entry], digest, approved, outgoing }: ImportItem): Promise<Trial> {
  try {
    if (!entry) throw new Error('It is in no file')
    // The user has ticked it, on a page that lists what it gets.
    const body = { ...entry, digest, unapproved: !approved, allow_outgoing: namedOutgoing(outgoing) }
    return { state: 'done', report: await api().post('/api/agents/import/trial', { body }) }
  } catch (error) {
    return { state: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

/** An entry that was changed is another one. */
const keyOf = ({ found_in, digest }: ImportItem): string => JSON.stringify([found_in[0], digest])
