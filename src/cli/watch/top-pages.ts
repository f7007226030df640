import { type AnyServer, needsHelp, stateSpan } from '../run/any-server.ts'
import { columns } from '../run/columns.ts'
import { milliseconds, share } from '../run/human-readable.ts'
import { clean, cut, type Line, type Span, textOf, toned, widthOf } from '../run/printed-line.ts'
import { infoLines } from '../servers/show-servers.ts'
import { type Figures, listLines, type View } from './top-server-list.ts'

const HELP: readonly (readonly [keys: string, does: string])[] = [
  ['up, down, k, j', 'choose a server, or scroll'],
  ['page up, page down', 'the same, ten at a time'],
  ['enter', 'details of the chosen server'],
  ['l', 'its log, which follows until you scroll up'],
  ['r', 'restart it'],
  ['x', 'stop it'],
  ['/', 'show only servers with this text in their names'],
  ['s', 'sort by the next column'],
  ['?', 'this page'],
  ['esc', 'back to the list; there, show all servers'],
  ['q, Ctrl-C', 'quit'],
]

/** Everything that the screen can show. */
export interface Shown {
  readonly figures: Figures
  readonly view: View
  /** The server of the pages `details` and `log`. */
  readonly server: AnyServer | undefined
  /** The log of that server, the newest line last. */
  readonly log: readonly Line[]
}

/** Exactly `height` lines, none wider than `width`, and how far they can be scrolled. */
export function screenLines(shown: Shown, width: number, height: number): { lines: Line[]; most: number } {
  const { figures, view, server } = shown
  if (view.page === 'list') return { lines: listLines(figures, view, width, height), most: 0 }
  const room = Math.max(1, height - 2)
  const body = bodyOf(shown, width).flatMap((line) => wrapped(line, width))
  const most = Math.max(0, body.length - room)
  const scroll = Math.min(view.scroll, most)
  const first = view.page === 'log' ? most - scroll : scroll
  const part = body.slice(first, first + room)
  const blank = Array.from({ length: room - part.length }, () => '')
  const title: Line = server
    ? [toned('strong', ` ${cut(server.id, width - 20)}  `), stateSpan(server)]
    : ' Keys'
  return {
    most,
    lines: [title, ...part, ...blank, cut(view.message === '' ? footerOf(view) : ` ${view.message}`, width)],
  }
}

function footerOf({ page, scroll }: View): string {
  if (page === 'help') return ' esc back  q quit'
  if (page === 'details') return ' up down scroll  l log  r restart  x stop  esc back  ? help  q quit'
  const state = scroll === 0 ? 'following' : 'paused, down follows again'
  return ` ${state}  up down scroll  r restart  x stop  esc back  q quit`
}

function bodyOf({ figures, view, server, log }: Shown, width: number): readonly Line[] {
  if (view.page === 'help') return ['', ...HELP.map(([keys, does]) => `  ${keys.padEnd(20)} ${does}`)]
  if (!server) return []
  if (view.page === 'log') return log.length === 0 ? ['', ' No lines.'] : log
  const tools = figures.tools
    .filter(({ server_id }) => server_id === server.id)
    .sort((a, b) => b.calls.total - a.calls.total)
    .map(({ tool, calls, latency_ms }) => [
      tool,
      calls.total,
      share(calls.total - calls.ok, calls.total),
      milliseconds(latency_ms.p50),
      milliseconds(latency_ms.p95),
    ])
  return [
    '',
    ...infoLines(server).map((line): Line => [' ', ...spansOf(line)]),
    ...(needsHelp(server) ? ['', ` toolroom why ${server.id}  says more`] : []),
    '',
    ...(tools.length === 0
      ? [' No calls in the last 5 minutes.']
      : columns({ head: ['TOOL', 'CALLS', 'ERR', 'P50', 'P95'], rows: tools }, width)),
  ]
}

const spansOf = (line: Line): readonly Span[] => (typeof line === 'string' ? [line] : line)

/** A line in pieces that are not wider than the screen. */
function wrapped(line: Line, width: number): Line[] {
  const lines: Span[][] = [[]]
  let taken = 0
  for (const span of spansOf(line)) {
    const tone = typeof span === 'object' && span !== null ? span.tone : undefined
    let piece = ''
    for (const character of clean(textOf(span))) {
      if (taken + widthOf(character) > width) {
        lines.at(-1)?.push(toned(tone, piece))
        lines.push([])
        piece = ''
        taken = 0
      }
      piece += character
      taken += widthOf(character)
    }
    lines.at(-1)?.push(toned(tone, piece))
  }
  return lines
}
