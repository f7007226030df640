import { usage } from '../frame/failure.ts'

/** `NAME=VALUE` of a flag that may be repeated. The value may be empty. */
export function pairs(flag: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=')
      // The text may be a secret, so the message does not repeat it.
      if (at < 1) throw usage(`--${flag} must be NAME=VALUE`, null)
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}
