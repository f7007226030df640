import { expect } from 'vitest'

/** Linear work takes 4 times as long on four times as much, quadratic work 16 times. */
const MOST = 9
/** CPU time that is too short to judge. Quadratic work on hundreds of kilobytes takes seconds. */
const NOTHING_MS = 100

/** Asserts that work on a large input takes not much more than 4 times the CPU time of the same work on a quarter of it. */
export function expectLinear(work: (size: 'small' | 'large') => unknown): void {
  const [small, large] = [cpuOf(() => work('small')), cpuOf(() => work('large'))]
  if (large <= NOTHING_MS) return
  expect(large / small, `${small} ms, and ${large} ms for 4 times as much`).toBeLessThan(MOST)
}

/** CPU time of this process in milliseconds: the least of three runs, without compilation and most of the collections. */
export function cpuOf(work: () => unknown): number {
  const runs = [1, 2, 3].map(() => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...runs)
}
