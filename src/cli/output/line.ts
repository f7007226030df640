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
