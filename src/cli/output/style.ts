import { clean, cut, type Line, type Span, type Tone, textOf } from './line.ts'

/** How text is written to a stream. */
export interface Style {
  readonly isColoured: boolean
  readonly isAscii: boolean
  /** Lines are cut here. Undefined if the stream is no terminal: then nothing is cut. */
  readonly width: number | undefined
}

interface Stream {
  readonly isTTY?: boolean
  readonly columns?: number
}
type Environment = Readonly<Record<string, string | undefined>>

/** Colours only on a terminal, or with FORCE_COLOR. */
export function styleOf(stream: Stream, env: Environment, isAscii: boolean): Style {
  const isForced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '' && env.FORCE_COLOR !== '0'
  const isRefused = Boolean(env.NO_COLOR) || env.TERM === 'dumb' || env.FORCE_COLOR === '0'
  return {
    isColoured: !isRefused && (isForced || stream.isTTY === true),
    isAscii,
    width: stream.isTTY ? stream.columns || 80 : undefined,
  }
}

const CODES: Record<Tone, number> = { ok: 32, warn: 33, err: 31, dim: 2, strong: 1 }
const ASCII: Readonly<Record<string, string>> = {
  '●': '*',
  '◐': '~',
  '◌': '.',
  '○': 'o',
  '✕': 'x',
  '▲': '!',
  '▼': 'v',
  '✓': '+',
  '…': '~',
  '≠': '#',
  '·': '-',
  '→': '>',
  '—': '-',
  '–': '-',
  '’': "'",
}

/** Our signs in one ASCII character each, so that columns stay aligned, and `?` for everything else. */
const toAscii = (text: string): string =>
  text.replace(/[\u0080-\u{10ffff}]/gu, (character) => ASCII[character] ?? '?')

/** A span as it is printed. */
function written(span: Span, { isColoured, isAscii }: Style): string {
  const text = clean(textOf(span))
  const shown = isAscii ? toAscii(text) : text
  const tone = typeof span === 'object' && span !== null ? span.tone : undefined
  return isColoured && tone && shown !== '' ? `\u001b[${CODES[tone]}m${shown}\u001b[0m` : shown
}

/** A line as it is printed, with its line break. */
export function writtenLine(line: Line, style: Style): string {
  const spans = typeof line === 'string' ? [line] : line
  return `${spans
    .map((span) => written(span, style))
    .join('')
    .trimEnd()}\n`
}

/** A span that is not wider than its column. */
export function cutSpan(span: Span, width: number): Span {
  const text = cut(clean(textOf(span)), width)
  return typeof span === 'object' && span !== null ? { text, tone: span.tone } : text
}
