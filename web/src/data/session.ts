import { useSyncExternalStore } from 'react'
import { ApiError } from '../../../src/api/client/client.ts'
import { clientWith } from './client.ts'

/**
 * The token of this tab. It is kept in sessionStorage only: no other tab, no cookie, no URL. Without it the dashboard
 * is read-only.
 */

const STORED = 'toolroom.token'
const CODE = /^#c=([\w-]{1,128})$/

export interface Session {
  readonly token: string | undefined
  /** Why the code in the address was not accepted. */
  readonly refused: 'expired' | 'spent' | undefined
}

let session: Session = { token: sessionStorage.getItem(STORED) ?? undefined, refused: undefined }
const listeners = new Set<() => void>()

function change(next: Session): void {
  if (next.token === undefined) sessionStorage.removeItem(STORED)
  else sessionStorage.setItem(STORED, next.token)
  session = next
  for (const listener of listeners) listener()
}

export function onSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const currentSession = (): Session => session

/** `mayChange` is false while the dashboard is read-only. */
export function useSession(): Session & { readonly mayChange: boolean } {
  const { token, refused } = useSyncExternalStore(onSession, currentSession)
  return { token, refused, mayChange: token !== undefined }
}

/** Exchanges the code that `toolroom open` put into the fragment. The fragment is removed first. */
export async function redeemCode(): Promise<void> {
  const code = CODE.exec(location.hash)?.[1]
  if (code === undefined) return
  history.replaceState(null, '', location.pathname + location.search)
  try {
    const { token } = await clientWith(undefined).post('/api/login', { body: { code } })
    change({ token, refused: undefined })
  } catch (error) {
    if (error instanceof ApiError)
      change({ ...session, refused: error.code === 'code_expired' ? 'expired' : 'spent' })
  }
}

/** Keeps a pasted token if the service accepts it. Returns the reason if it does not. */
export async function signIn(token: string): Promise<string | undefined> {
  try {
    await clientWith(token).get('/api/jobs')
    change({ token, refused: undefined })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Also when the service no longer accepts the token, because it was rotated. */
export function signOut(): void {
  change({ token: undefined, refused: undefined })
}
