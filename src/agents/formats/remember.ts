/** Shorter texts are parsed in a few milliseconds. */
const SHORT = 64 * 1024
/** The result takes several times the memory of its text. */
const KEPT_MS = 30_000

/**
 * Remembers the result for the last long text: a request reads the same file several times, and the next one mostly
 * finds it unchanged. It is forgotten when it was not needed for a while. Callers must not change the result.
 */
export function rememberingLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly result: T } | undefined
  let timer: NodeJS.Timeout | undefined
  const forget = () => {
    last = undefined
    timer = undefined
  }
  return (text) => {
    if (text.length <= SHORT) return read(text)
    if (last?.text !== text) {
      last = undefined // its memory can be used for the next one
      last = { text, result: read(text) }
    }
    timer = timer?.refresh() ?? setTimeout(forget, KEPT_MS).unref()
    return last.result
  }
}
