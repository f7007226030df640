import { useEffect, useRef, useSyncExternalStore } from 'react'

/**
 * The keyboard map. A component registers what its keys do while it is on screen:
 *
 *   useKeys(t('title'), { r: { does: t('restart'), run: () => restart() }, 'g s': … })
 *
 * A key is a character (`r`, `?`, `[`), a name (`Enter`, `Escape`, `ArrowUp`), with `ctrl+` or `shift+` before it, or a
 * sequence of two (`g s`). `ctrl+` is also the command key. Keys without ctrl do nothing while a text is typed, and all
 * single letters can be switched off (WCAG 2.1.4). `?` lists what is registered.
 */

export interface KeyAction {
  readonly does: string
  readonly run: (event: KeyboardEvent) => void
}
export type KeyMap = Readonly<Record<string, KeyAction>>
export interface KeyGroup {
  readonly title: string
  readonly keys: KeyMap
}

const SEQUENCE_MS = 1200
const LETTERS_OFF = 'toolroom.letters-off'
const groups: { current: KeyGroup }[] = []
const listeners = new Set<() => void>()
let shown: readonly KeyGroup[] = []
let first: { readonly key: string; readonly at: number } | undefined

export function useKeys(title: string, keys: KeyMap, enabled = true): void {
  const group = useRef<KeyGroup>({ title, keys })
  group.current = { title, keys }
  useEffect(() => {
    if (!enabled) return
    groups.push(group)
    publish()
    return () => {
      groups.splice(groups.indexOf(group), 1)
      publish()
    }
  }, [enabled])
}

/** All keys that work now, for the list of keys. */
export const useKeyGroups = (): readonly KeyGroup[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => shown,
  )

export const lettersAreOff = (): boolean => localStorage.getItem(LETTERS_OFF) === '1'
export function switchLetters(off: boolean): void {
  if (off) localStorage.setItem(LETTERS_OFF, '1')
  else localStorage.removeItem(LETTERS_OFF)
}

/** Called once, by `main.tsx`. */
export function listenToKeys(): void {
  document.addEventListener('keydown', onKey)
}

function publish(): void {
  shown = groups.map(({ current }) => current)
  for (const listener of listeners) listener()
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  const key = nameOf(event)
  const isPlain = !key.startsWith('ctrl+')
  if (isPlain && (isTyping(event.target) || (event.key.length === 1 && lettersAreOff()))) return
  if (isPlain && isInDialog() && key !== 'Escape' && key !== '?') return
  const before = first && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ` : ''
  const action = find(`${before}${key}`) ?? find(key)
  first = isPlain && event.key.length === 1 && before === '' ? { key, at: event.timeStamp } : undefined
  if (!action) return
  event.preventDefault()
  first = undefined
  action.run(event)
}

/** The newest group wins: that of the page, before those of the layout. */
function find(key: string): KeyAction | undefined {
  return groups.toReversed().find(({ current }) => Object.hasOwn(current.keys, key))?.current.keys[key]
}

function nameOf({ key, ctrlKey, metaKey, shiftKey, altKey }: KeyboardEvent): string {
  if (altKey) return `alt+${key}`
  const name = key === ' ' ? 'Space' : key.length === 1 ? key.toLowerCase() : key
  const isShifted = shiftKey && (key.length > 1 || key === ' ' || /[a-z]/i.test(key))
  return `${ctrlKey || metaKey ? 'ctrl+' : ''}${isShifted ? 'shift+' : ''}${name}`
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable || target.closest('[contenteditable="true"]')) return true
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type)
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}

const isInDialog = (): boolean => document.querySelector('[role="dialog"][aria-modal="true"]') !== null
