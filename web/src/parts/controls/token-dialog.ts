import { useSyncExternalStore } from 'react'

/** The dialog in which a token is pasted. It belongs to the layout and is opened from many places. */

let isOpen = false
const listeners = new Set<() => void>()

function set(open: boolean): void {
  isOpen = open
  for (const listener of listeners) listener()
}

export const openTokenDialog = (): void => set(true)
export const closeTokenDialog = (): void => set(false)

export const useTokenDialog = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isOpen,
  )
