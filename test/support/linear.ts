import { expect } from 'vitest'

/** Linear work takes 4 times as long on four times as much, quadratic work 16 times. */
const MOST = 9
/** CPU time that is too short to judge. Quadratic work on hundreds of kilobytes takes seconds. */
const NOTHING_MS = 100
/** Windows counts CPU time in such steps, so the least of several runs may be one too short. */
const STEP_MS = process.platform === 'win32' ? 16 : 0
/** A collection of garbage or another file's threads can disturb a run, so the least of several runs counts. */
const MOST_RUNS = 12

/** Asserts that work on a large input takes not much more than 4 times the CPU time of the same work on a quarter of it. */
export function expectLinear(work: (size: 'small' | 'large') => unknown): void {
  const first = cpuOfOne(() => work('large')) // compiles the code, so the runs after it are shorter, if anything
  if (first <= NOTHING_MS) return
  const small = cpuOf(() => work('small')) + STEP_MS
  const isFine = (ms: number) => ms <= NOTHING_MS || ms < MOST * small
  const large = isFine(first) ? first : cpuOf(() => work('large'), isFine)
  if (large <= NOTHING_MS) return
  expect(large / small, `${small} ms, and ${large} ms for 4 times as much`).toBeLessThan(MOST)
}

/**
 * CPU time of this process in milliseconds: the least of some runs, without compilation and most of the collections. Until
 * `isFine`, there are more.
 */
export function cpuOf(work: () => unknown, isFine: (ms: number) => boolean = () => true, runs = 3): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs || (run < MOST_RUNS && !isFine(least)); run += 1)
    least = Math.min(least, cpuOfOne(work))
  return least
}

function cpuOfOne(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
