import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, onTestFinished } from 'vitest'

type End = () => unknown

const shared = new AsyncLocalStorage<End[]>()

/** Runs `end` after the test; for what `sharedByTests` opens, after the last test of the block. */
export function atEnd(end: End): void {
  const ends = shared.getStore()
  if (ends) ends.push(end)
  else onTestFinished(async () => void (await end()))
}

/**
 * For tests of a `describe` block that do not disturb each other: the first call of the returned function opens, the
 * others get the same. What was opened is closed after the block, in reverse order.
 */
export function sharedByTests<T>(open: () => Promise<T>): () => Promise<T> {
  const ends: End[] = []
  let opened: Promise<T> | undefined
  afterAll(async () => {
    for (const end of ends.reverse()) await end()
  })
  return () => (opened ??= shared.run(ends, open))
}
