import { useSyncExternalStore } from 'react'
import type { Server } from '../../data/servers.ts'

/** The dialog in which a named secret is set. It belongs to the layout, and opens beside whatever needs the secret. */

export interface WantedSecret {
  readonly name: string
  /** The server that refers to it. */
  readonly server: Server | undefined
}

let wanted: WantedSecret | undefined
const listeners = new Set<() => void>()

function set(next: WantedSecret | undefined): void {
  wanted = next
  for (const listener of listeners) listener()
}

export const openSecretDialog = (secret: WantedSecret): void => set(secret)
export const closeSecretDialog = (): void => set(undefined)

export const useWantedSecret = (): WantedSecret | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => wanted,
  )
