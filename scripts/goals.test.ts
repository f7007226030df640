import { expect, test } from 'vitest'
import { reasonToSkip } from './allowed-skips.mjs'
import { GOALS, goalsIn, scriptsOfGoals } from './goal-list.mjs'

test('each of the reliability goals R1 to R29 has a script in test/', () => {
  const goals = Array.from({ length: 29 }, (_, n) => `R${n + 1}`)
  expect(Object.keys(GOALS)).toEqual(goals)
  const scripts = scriptsOfGoals()
  expect(goals.filter((goal) => scripts.get(goal)?.length === 0)).toEqual([])
})

test('a goal is found by its whole number, in a title or a comment', () => {
  expect(goalsIn('R3, R21: kill -9; figure(R10), not R30, R0, XR4 or R1x')).toEqual(['R3', 'R21', 'R10'])
})

test('a skipped test is allowed only with a reason, and in CI only if no machine of this kind can run it', () => {
  const unknown = { file: 'src/config/config.test.ts', name: 'a setting' }
  const browser = { file: 'test/e2e/swagger-ui.test.ts', name: 'a server can be added from /docs' }
  if (process.platform === 'linux') expect(reasonToSkip(unknown, false)).toBeUndefined()
  expect(reasonToSkip(browser, false)).toContain('Chromium')
  if (process.platform === 'linux') expect(reasonToSkip(browser, true)).toBeUndefined()
})
