/** What XML 1.0 cannot express, not even as a reference. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const IMPOSSIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Text between two tags. Throws a sentence for a text that XML cannot express. */
export function xmlText(text: string): string {
  if (IMPOSSIBLE.test(text))
    throw new Error(`${JSON.stringify(text)} has a character that XML cannot express`)
  // A parser changes line breaks that are not written as references.
  return text.replace(/[&<>"\t\r\n]/g, (found) => NAMED[found] ?? `&#${found.charCodeAt(0)};`)
}
