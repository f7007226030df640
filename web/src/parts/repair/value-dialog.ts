import { useSyncExternalStore } from 'react'
import type { RepairAction } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'

/** The dialog in which a named secret or a variable is set. It belongs to the layout, and opens beside whatever needs it. */

export interface WantedValue {
  readonly action: Extract<RepairAction, { readonly kind: 'set_secret' | 'set_variable' }>
  /** The server that lacks it. */
  readonly server: Server | undefined
}

let wanted: WantedValue | undefined
const listeners = new Set<() => void>()

function set(next: WantedValue | undefined): void {
  wanted = next
  for (const listener of listeners) listener()
}

export const openValueDialog = (value: WantedValue): void => set(value)
export const closeValueDialog = (): void => set(undefined)

export const useWantedValue = (): WantedValue | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => wanted,
  )
