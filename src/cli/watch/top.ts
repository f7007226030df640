import { allServers, isStdio } from '../run/any-server.ts'
import type { Context, Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import type { Line } from '../run/printed-line.ts'
import type { Api } from '../run/service-client.ts'
import { logLine } from './logs-traffic-events.ts'
import { Screen } from './screen.ts'
import { screenLines } from './top-pages.ts'
import { type Figures, HEAD, rankedServers, rowOf, SORTS, type View } from './top-server-list.ts'

const EVERY_MS = 1000
const LOG_LINES = 500
const ACTIONS: Readonly<Record<string, 'restart' | 'stop'>> = { r: 'restart', x: 'stop' }
const FIRST: View = {
  page: 'list',
  scroll: 0,
  filter: '',
  isTyping: false,
  sort: 'name',
  chosen: undefined,
  message: '',
}

/** `toolroom top`: a screen that is drawn every second. Without a terminal, one table. */
export const top: Run = async (context) => {
  const figures = await figuresNow(context.api)
  const isScreen = context.terminal.isTty && process.stdin.isTTY
  if (isScreen && !context.given.is('json') && !context.given.is('plain')) return watch(context, figures)
  const servers = rankedServers(figures, FIRST)
  return {
    json: { items: servers, summary: figures.summary },
    table: { head: HEAD, rows: servers.map((server) => rowOf(server, figures)) },
  }
}

async function figuresNow(api: Api): Promise<Figures> {
  const query = { window: '5m' } as const
  const [servers, { items: tools }, summary] = await Promise.all([
    allServers(api),
    api.get('/api/metrics/tools', { query }),
    api.get('/api/metrics/summary', { query }),
  ])
  return { servers, tools, summary, at: Date.now() }
}

async function logNow(api: Api, id: string): Promise<Line[]> {
  const { items } = await api.get('/api/logs', { query: { server_id: [id], limit: LOG_LINES } })
  return items.map(logLine).reverse()
}

/** Ends when the user quits, or when the service cannot be asked any more. */
function watch({ api, given }: Context, first: Figures): Promise<undefined> {
  let figures = first
  let view = FIRST
  let log: readonly Line[] = []
  let most = 0
  let turn = 0
  return new Promise((resolve, reject) => {
    const screen = new Screen(given.is('ascii'), onKeys, draw)
    let timer = setTimeout(refresh, EVERY_MS)
    draw()

    function draw(): void {
      const { width, height } = screen.size
      const server = view.page === 'help' ? undefined : chosenOf(figures, view)
      const drawn = screenLines({ figures, view, server, log }, width, height)
      most = drawn.most
      screen.draw(drawn.lines)
    }

    /** An answer that was overtaken by a later question is dropped. A log that is scrolled back does not move. */
    async function refresh(): Promise<void> {
      clearTimeout(timer)
      const own = ++turn
      const { page, scroll, chosen } = view
      try {
        const [now, lines] = await Promise.all([
          figuresNow(api),
          page === 'log' && scroll === 0 && chosen !== undefined ? logNow(api, chosen) : log,
        ])
        if (own !== turn) return
        figures = now
        log = lines
        if (view.page !== 'list' && !now.servers.some(({ id }) => id === view.chosen))
          view = { ...view, page: 'list' }
        draw()
        timer = setTimeout(refresh, EVERY_MS)
      } catch (error) {
        end(() => reject(error))
      }
    }

    function end(settle: () => void): void {
      turn++
      clearTimeout(timer)
      screen.close()
      settle()
    }

    function onKeys(text: string): void {
      for (const key of keysIn(text)) onKey(key)
    }

    function onKey(key: string): void {
      const before = view
      const action = view.isTyping ? undefined : ACTIONS[key]
      if (key === 'q' && !view.isTyping) end(() => resolve(undefined))
      else if (action) void act(action)
      else view = afterKey(view, key, figures, most)
      const isNewLog = view.page === 'log' && before.page !== 'log'
      if (isNewLog) log = []
      draw()
      if (isNewLog) void refresh()
    }

    async function act(action: 'restart' | 'stop'): Promise<void> {
      const server = chosenOf(figures, view)
      if (!server || view.page === 'help') return
      const say = (message: string) => {
        view = { ...view, message }
        draw()
      }
      if (!isStdio(server)) return say(`${server.id} runs at its own URL: there is nothing to ${action} here`)
      say(`${action} ${server.id} …`)
      try {
        const { items } = await api.post('/api/servers/bulk', { body: { action, ids: [server.id] } })
        say(items[0]?.error?.message ?? `${action} ${server.id}: ${items[0]?.status ?? 'done'}`)
      } catch (error) {
        say(error instanceof Failure ? error.message : String(error))
      }
    }
  })
}

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
const keysIn = (text: string): string[] => text.match(KEY) ?? []
const KEY = new RegExp(`${ESC}\\[[\\d;]*[A-Za-z~]|${ESC}O[A-Z]|.`, 'gsu')

/** What is shown after a key. `most`: how far the page can be scrolled. */
function afterKey(view: View, key: string, figures: Figures, most: number): View {
  if (view.isTyping) return afterTyped(view, key)
  const quiet = { ...view, message: '' }
  if (key in STEPS) return moved(quiet, STEPS[key] ?? 0, figures, most)
  if (key === '?') return onPage(quiet, view.page === 'help' ? 'list' : 'help')
  const chosen = chosenOf(figures, view)?.id
  if (key === 'l' && chosen !== undefined) return onPage({ ...quiet, chosen }, 'log')
  if (view.page !== 'list') return key === ESC ? onPage(quiet, 'list') : quiet
  if (key === '\r' && chosen !== undefined) return onPage({ ...quiet, chosen }, 'details')
  if (key === ESC) return { ...quiet, filter: '' }
  if (key === '/') return { ...quiet, isTyping: true }
  if (key === 's') return { ...quiet, sort: SORTS[(SORTS.indexOf(view.sort) + 1) % SORTS.length] ?? 'name' }
  return quiet
}

const onPage = (view: View, page: View['page']): View => ({ ...view, page, scroll: 0 })

/** The server under the sign, which is the first one until another is chosen. */
function chosenOf(figures: Figures, view: View) {
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
