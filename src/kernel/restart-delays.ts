/** Seconds before each of the first restarts in a row. After them, `max_delay_s` counts. */
export const RESTART_DELAYS_S: readonly number[] = [1, 2, 4, 8, 16]

/**
 * The delays after the failures that would follow `attempt`, without their spread, up to the one that is repeated. For
 * a reader: they assume that each process ends at once.
 */
export function laterDelays(attempt: number, max_delay_s: number): number[] {
  const ladder = RESTART_DELAYS_S.slice(attempt).filter((step) => step < max_delay_s)
  return [...ladder, max_delay_s]
}
