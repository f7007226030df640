import { useEffect, useSyncExternalStore } from 'react'
import type { Notice } from '../api.ts'

/**
 * Notices as notifications of the operating system. They are shown only if the user has asked for it in this browser,
 * and the browser allows it.
 */

const STORED = 'toolroom.os-notices'
const EVERY_MS = 10 * 60_000
/** Of these kinds; others wait in the bell. */
const KINDS: readonly Notice['kind'][] = ['server_crashed', 'server_failed', 'tools_changed', 'tools_held']

const listeners = new Set<() => void>()
const lastAt = new Map<string, number>()
const shown = new Map<number, Notification>()

/** `unsupported`: the browser has no notifications. `off`: not asked for, or switched off. */
export type OsNotices = 'unsupported' | 'off' | 'on' | 'denied'

function state(): OsNotices {
  if (!('Notification' in window)) return 'unsupported'
  if (Notification.permission === 'denied') return 'denied'
  return Notification.permission === 'granted' && localStorage.getItem(STORED) === '1' ? 'on' : 'off'
}

export const useOsNotices = (): OsNotices =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, state)

/** Has to be called by a click: a browser refuses to ask otherwise. */
export async function switchOsNotices(on: boolean): Promise<void> {
  if (on && (await Notification.requestPermission()) === 'granted') localStorage.setItem(STORED, '1')
  if (!on) localStorage.removeItem(STORED)
  for (const listener of listeners) listener()
}

/** Shows one notification per server and kind in ten minutes, and closes it when the cause is gone. */
export function useShowOsNotices(fresh: readonly Notice[], open: readonly Notice[]): void {
  useEffect(() => {
    if (state() !== 'on') return
    for (const notice of fresh) show(notice)
  }, [fresh])
  useEffect(() => {
    for (const [id, notification] of shown)
      if (!open.some((notice) => notice.id === id)) {
        notification.close()
        shown.delete(id)
      }
  }, [open])
}

function show({ id, kind, server_id, text, evidence, count, action }: Notice): void {
  const key = `${kind} ${server_id}`
  const now = performance.now()
  if (!KINDS.includes(kind) || now - (lastAt.get(key) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return
  lastAt.set(key, now)
  const more = count > 1 ? ` (${count})` : ''
  const notification = new Notification(`${text}${more}`, {
    body: evidence ?? '',
    tag: key,
  })
  notification.onclick = () => {
    window.focus()
    location.assign(action.route)
  }
  shown.set(id, notification)
}
