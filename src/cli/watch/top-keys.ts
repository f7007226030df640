import { type Figures, rankedServers, SORTS, type View } from './top-view.ts'

const ESC = '\u001b'

/** How far one key scrolls or moves the choice. Positive is down. */
const STEPS: Readonly<Record<string, number>> = {
  [`${ESC}[A`]: -1,
  [`${ESC}OA`]: -1,
  k: -1,
  [`${ESC}[5~`]: -10,
  [`${ESC}[B`]: 1,
  [`${ESC}OB`]: 1,
  j: 1,
  [`${ESC}[6~`]: 10,
}

/** Several keys may arrive at once. An arrow key is a sequence of characters. */
export const keysIn = (text: string): string[] => text.match(KEY) ?? []
const KEY = new RegExp(`${ESC}\\[[\\d;]*[A-Za-z~]|${ESC}O[A-Z]|.`, 'gsu')

/** What is shown after a key. `most`: how far the page can be scrolled. */
export function afterKey(view: View, key: string, figures: Figures, most: number): View {
  if (view.isTyping) return afterTyped(view, key)
  const quiet = { ...view, message: '' }
  if (key in STEPS) return moved(quiet, STEPS[key] ?? 0, figures, most)
  if (key === '?') return shown(quiet, view.page === 'help' ? 'list' : 'help')
  const chosen = chosenOf(figures, view)?.id
  if (key === 'l' && chosen !== undefined) return shown({ ...quiet, chosen }, 'log')
  if (view.page !== 'list') return key === ESC ? shown(quiet, 'list') : quiet
  if (key === '\r' && chosen !== undefined) return shown({ ...quiet, chosen }, 'details')
  if (key === ESC) return { ...quiet, filter: '' }
  if (key === '/') return { ...quiet, isTyping: true }
  if (key === 's') return { ...quiet, sort: SORTS[(SORTS.indexOf(view.sort) + 1) % SORTS.length] ?? 'name' }
  return quiet
}

const shown = (view: View, page: View['page']): View => ({ ...view, page, scroll: 0 })

/** The server under the sign, which is the first one until another is chosen. */
export function chosenOf(figures: Figures, view: View) {
  const servers = rankedServers(figures, view)
  return servers.find(({ id }) => id === view.chosen) ?? servers[0]
}

function moved(view: View, step: number, figures: Figures, most: number): View {
  const within = (value: number, last: number) => Math.min(last, Math.max(0, value))
  // The log is scrolled back from its end.
  if (view.page === 'log') return { ...view, scroll: within(view.scroll - step, most) }
  if (view.page !== 'list') return { ...view, scroll: within(view.scroll + step, most) }
  const servers = rankedServers(figures, view)
  const at = Math.max(
    0,
    servers.findIndex(({ id }) => id === view.chosen),
  )
  return { ...view, chosen: servers[within(at + step, servers.length - 1)]?.id }
}

function afterTyped(view: View, key: string): View {
  if (key === ESC) return { ...view, filter: '', isTyping: false }
  if (key === '\r' || key === '\n') return { ...view, isTyping: false }
  if (key === '\u007f' || key === '\b') return { ...view, filter: view.filter.slice(0, -1) }
  return /^[\w .@/-]$/.test(key) ? { ...view, filter: view.filter + key } : view
}
