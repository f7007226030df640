/** Colours repeat what the words say. */
export type Tone = 'ok' | 'warn' | 'err' | 'dim' | 'strong'

/** A piece of text, in a colour if the terminal has any. */
export type Span =
  | string
  | number
  | null
  | undefined
  | { readonly text: string; readonly tone: Tone | undefined }

/** One line of output. Control characters in it are removed when it is printed. */
export type Line = string | readonly Span[]

export const toned = (tone: Tone | undefined, text: string): Span => ({ text, tone })

const SIGNS = { ok: '✓ ', err: '✕ ', warn: '! ', dim: '○ ' } as const

/** `✓ `, `✕ `, `! ` or `○ `, in its colour. */
export const sign = (tone: keyof typeof SIGNS): Span => toned(tone, SIGNS[tone])

/** A line that begins with a sign. */
export const signed = (tone: keyof typeof SIGNS, text: string): Line => [sign(tone), text]

/** What a span shows. A missing value is a dash. */
export const textOf = (span: Span): string =>
  span === null || span === undefined ? '-' : typeof span === 'object' ? span.text : String(span)

/** Without control characters: text from a server must not move the cursor. */
export const clean = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')

/** The same, for text within a sentence. */
export const plain = (text: string): string => clean(text).trim()

/** How many columns a text takes. Ideographs and emoji take two. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const character of text.normalize('NFC'))
    width += /\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return width
}
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u

/** The beginning of a text, at most `width` columns wide, with an ellipsis if something is missing. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let taken = 0
  for (const character of text) {
    taken += widthOf(character)
    if (taken >= width) break
    kept += character
  }
  return `${kept}…`
}

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
/** Our signs, and at the same position the ASCII character for each. */
const OUR_SIGNS = '●◐◌○✕▲▼✓…≠·→—–’'
const ASCII_SIGNS = "*~.ox!v+~#->--'"

/** Our signs in one ASCII character each, so that columns stay aligned, and `?` for everything else. */
const toAscii = (text: string): string =>
  text.replace(/[\u0080-\u{10ffff}]/gu, (character) => ASCII_SIGNS[OUR_SIGNS.indexOf(character)] ?? '?')

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
