import { useSyncExternalStore } from 'react'
import type { Server } from '../servers.ts'
import { removeServer } from './server-changes.ts'

/**
 * Servers that are about to be removed. They are out of sight at once, and deleted when the time for the undo is over.
 * A tab that is closed meanwhile deletes nothing.
 */
let leaving: ReadonlySet<string> = new Set()
const listeners = new Set<() => void>()

function set(next: ReadonlySet<string>): void {
  leaving = next
  for (const listener of listeners) listener()
}

export const useLeaving = (): ReadonlySet<string> =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => leaving,
  )

/** Takes them out of sight. Returns how to bring them back, and how to delete them. */
export function leave(servers: readonly Server[]) {
  const ids = servers.map(({ id }) => id)
  const back = () => set(new Set([...leaving].filter((id) => !ids.includes(id))))
  set(new Set([...leaving, ...ids]))
  return { back, remove: () => Promise.all(servers.map(removeServer)).finally(back) }
}
