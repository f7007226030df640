/** Text of a server, to be quoted in an error message: one line without control characters. Undefined when blank. */
export function printableLine(text: string, maxChars: number): string | undefined {
  const line = text
    .slice(0, maxChars * 2)
    // Control characters, including the rest of a terminal colour code, line separators and bidirectional controls.
    .replace(/(?:\p{Cc}(?:\[[\d;?]+[A-Za-z])?|[\p{Zl}\p{Zp}\p{Bidi_Control}])+/gu, ' ')
    .trim()
  return line === '' ? undefined : line.slice(0, maxChars).toWellFormed()
}
