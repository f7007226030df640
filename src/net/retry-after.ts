const LONGEST_WAIT_S = 24 * 60 * 60

/** The seconds to wait by a Retry-After header, which has a number of seconds or a date. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - now) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), LONGEST_WAIT_S)
}
