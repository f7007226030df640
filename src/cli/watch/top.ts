import type { Context, Run } from '../frame/context.ts'
import { Failure } from '../frame/failure.ts'
import type { Api } from '../frame/typed-api.ts'
import { allServers } from '../servers/all-servers.ts'
import { Screen } from './screen.ts'
import { type Figures, HEAD, rankedServers, rowOf, SORTS, screenLines, type View } from './top-view.ts'

const EVERY_MS = 1000
const COMMANDS: Readonly<Record<string, 'quit' | 'restart' | 'stop'>> = { q: 'quit', r: 'restart', x: 'stop' }
const FIRST: View = { filter: '', isTyping: false, sort: 'name', chosen: undefined, message: '' }

/** `toolroom top`: a screen that is drawn every second. Without a terminal, one table. */
export const run: Run = async (context) => {
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

/** Ends when the user quits, or when the service cannot be asked any more. */
function watch({ api, given }: Context, first: Figures): Promise<undefined> {
  let figures = first
  let view = FIRST
  return new Promise((resolve, reject) => {
    const screen = new Screen(given.is('ascii'), onKey, draw)
    let timer = setTimeout(refresh, EVERY_MS)
    draw()

    function draw(): void {
      const { width, height } = screen.size
      screen.draw(screenLines(figures, view, width, height))
    }

    async function refresh(): Promise<void> {
      try {
        figures = await figuresNow(api)
        draw()
        timer = setTimeout(refresh, EVERY_MS)
      } catch (error) {
        end(() => reject(error))
      }
    }

    function end(settle: () => void): void {
      clearTimeout(timer)
      screen.close()
      settle()
    }

    function onKey(key: string): void {
      if (key === '\u0003') process.exit(130)
      const command = view.isTyping ? undefined : COMMANDS[key]
      if (command === 'quit') end(() => resolve(undefined))
      else if (command) void act(command)
      else {
        view = afterKey(view, key, figures)
        draw()
      }
    }

    async function act(action: 'restart' | 'stop'): Promise<void> {
      const server = chosenOf(figures, view)
      if (!server) return
      const say = (message: string) => {
        view = { ...view, message }
        draw()
      }
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

function chosenOf(figures: Figures, view: View) {
  const servers = rankedServers(figures, view)
  return servers.find(({ id }) => id === view.chosen) ?? servers[0]
}

/** Several keys may arrive at once, such as a pasted word. */
function afterKey(view: View, key: string, figures: Figures): View {
  if (view.isTyping) return afterTyped(view, key)
  if (key.startsWith('/')) return afterTyped({ ...view, isTyping: true, message: '' }, key.slice(1))
  if (key === 's')
    return { ...view, sort: SORTS[(SORTS.indexOf(view.sort) + 1) % SORTS.length] ?? 'name', message: '' }
  if (key === '\u001b') return { ...view, filter: '', message: '' }
  const step = { '\u001b[A': -1, k: -1, '\u001b[B': 1, j: 1 }[key]
  if (step === undefined) return { ...view, message: '' }
  const servers = rankedServers(figures, view)
  const at =
    Math.max(
      0,
      servers.findIndex(({ id }) => id === view.chosen),
    ) + step
  return { ...view, chosen: servers[Math.min(servers.length - 1, Math.max(0, at))]?.id, message: '' }
}

function afterTyped(view: View, keys: string): View {
  if (keys === '\u001b') return { ...view, filter: '', isTyping: false }
  let next = view
  for (const key of keys) {
    if (key === '\r' || key === '\n') return { ...next, isTyping: false }
    const isErased = key === '\u007f' || key === '\b'
    if (isErased) next = { ...next, filter: next.filter.slice(0, -1) }
    else if (/^[\w .@/-]$/.test(key)) next = { ...next, filter: next.filter + key }
  }
  return next
}
