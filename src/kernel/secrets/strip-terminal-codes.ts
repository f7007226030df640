/* biome-ignore-all lint/suspicious/noControlCharactersInRegex: these are what the patterns find */

const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/
/**
 * Colours and cursor movements (CSI), window titles and other strings (OSC, DCS …), short escapes, and single control
 * characters. No sequence contains the start of another one, so the time is linear.
 */
const SEQUENCES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*(?![[\]PX^_])[0-~]|\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/**
 * Text without what a terminal would execute: escape sequences are removed, and other control characters, also those of
 * an incomplete sequence, become visible signs (␛, ␍, ␀). Tabs and line feeds stay.
 */
export function plainText(text: string): string {
  return CONTROL.test(text) ? text.replace(SEQUENCES, replacement) : text
}

function replacement(found: string): string {
  if (found.length > 1) return found === '\r\n' ? '\n' : ''
  const code = found.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

/** Text of a server, to be quoted in an error message: one line without control characters. Undefined when blank. */
export function printableLine(text: string, maxChars: number): string | undefined {
  const line = text
    .slice(0, maxChars * 2)
    // Control characters, including the rest of a terminal colour code, line separators and bidirectional controls.
    .replace(/(?:\p{Cc}(?:\[[\d;?]+[A-Za-z])?|[\p{Zl}\p{Zp}\p{Bidi_Control}])+/gu, ' ')
    .trim()
  return line === '' ? undefined : line.slice(0, maxChars).toWellFormed()
}
