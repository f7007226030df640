import { expect } from 'vitest'
import type { REVISIONS, runSuite } from '../conformance/suite.mjs'

/** Every required scenario and every tasks scenario has passed, without a warning. */
export function expectConformant(
  report: Awaited<ReturnType<typeof runSuite>> | undefined,
  revision: (typeof REVISIONS)[number],
): void {
  const { scenarios = [], required } = report ?? {}
  // An extension is never required. Only 2026-07-28 has scenarios of the tasks extension.
  const tasks = scenarios.filter(({ name }) => name.startsWith('tasks-'))
  expect(tasks).toHaveLength(revision === '2026-07-28' ? 10 : 0)
  const failed = scenarios.filter(
    ({ name, required, passed }) => (required || name.startsWith('tasks-')) && !passed,
  )
  expect(failed.map(({ name, reason }) => `${name}: ${reason}`)).toEqual([])
  const doubtful = scenarios.filter(({ required, warnings }) => required && warnings.length > 0)
  expect(doubtful.map(({ name, warnings }) => `${name}: ${warnings.join(', ')}`)).toEqual([])
  expect(required).toEqual(revision === '2025-11-25' ? { passed: 30, total: 30 } : { passed: 37, total: 37 })
}
