import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react'
import { useBrowserLocation } from 'wouter/use-browser-location'

/**
 * Unsaved work. While a component has some, whatever would leave its address is asked about first: links, the keyboard, the
 * back button, and by the browser itself a reload or the end of the tab.
 */

interface Unsaved {
  /** Whether the work is still in view at this address. */
  readonly staysAt: (address: URL) => boolean
  /** The user leaves it behind. */
  readonly onLeave: () => void
}

const unsaved = new Set<Unsaved>()
let asked: (() => void) | undefined
const listeners = new Set<() => void>()

function ask(leave: (() => void) | undefined): void {
  asked = leave
  for (const listener of listeners) listener()
}

/** Keeps what is `isUnsaved` from being lost. */
export function useUnsaved(isUnsaved: boolean, work: Unsaved): void {
  const latest = useRef(work)
  latest.current = work
  useEffect(() => {
    if (!isUnsaved) return
    const own: Unsaved = {
      staysAt: (address) => latest.current.staysAt(address),
      onLeave: () => latest.current.onLeave(),
    }
    unsaved.add(own)
    addEventListener('beforeunload', refuse)
    return () => {
      unsaved.delete(own)
      if (unsaved.size === 0) removeEventListener('beforeunload', refuse)
    }
  }, [isUnsaved])
}

const refuse = (event: Event) => event.preventDefault()

/** Does what leaves an address, at once or when the user has agreed. */
function leaving(to: string | URL, go: () => void): void {
  const address = new URL(to, location.href)
  const lost = [...unsaved].filter(({ staysAt }) => !staysAt(address))
  if (lost.length === 0) {
    go()
    return
  }
  askToLeave(() => {
    for (const work of lost) {
      unsaved.delete(work)
      work.onLeave()
    }
    go()
  })
}

/** Does what loses unsaved work when the user has agreed. */
export const askToLeave = (go: () => void): void =>
  ask(() => {
    ask(undefined)
    go()
  })

/** What the user is asked about now: the way to go on. */
export const useAsked = (): (() => void) | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => asked,
  )
export const stay = (): void => ask(undefined)

/** The address for the router. */
export function useGuardedLocation(): ReturnType<typeof useBrowserLocation> {
  const [path, navigate] = useBrowserLocation()
  const guarded = useCallback<typeof navigate>(
    (to, options) => leaving(to, () => navigate(to, options)),
    [navigate],
  )
  return [path, guarded]
}

let current = location.href
for (const type of ['pushState', 'replaceState'])
  addEventListener(type, () => {
    current = location.href
  })
// The browser has gone back already. The address returns until the user has agreed, before anything is drawn.
addEventListener('popstate', () => {
  const wanted = location.href
  if ([...unsaved].every(({ staysAt }) => staysAt(new URL(wanted)))) {
    current = wanted
    return
  }
  history.pushState(null, '', current)
  leaving(wanted, () => history.pushState(null, '', wanted))
})
