/** ISO-8601 UTC with milliseconds, the format of every time in the API. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** The two clocks are not read in the same instant. */
const CLOCKS_DIFFER_MS = 1000

/**
 * The system time of a future moment on the monotonic clock. Returns the time that was announced before, unless the
 * system time has been changed since.
 */
export function systemTimeOf(monotonic: number, announced: number, now: number): number {
  const time = Math.round(now + monotonic - performance.now())
  return Math.abs(time - announced) < CLOCKS_DIFFER_MS ? announced : time
}
