import { useSyncExternalStore } from 'react'
import type { Server } from '../../data/servers.ts'

/** The dialog in which a person allows what a server gets. It belongs to the layout. */

let wanted: string | undefined
const listeners = new Set<() => void>()

function set(id: string | undefined): void {
  wanted = id
  for (const listener of listeners) listener()
}

export const openOutgoingDialog = ({ id }: Pick<Server, 'id'>): void => set(id)
export const closeOutgoingDialog = (): void => set(undefined)

/** The id of the server. */
export const useWantedOutgoing = (): string | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => wanted,
  )
