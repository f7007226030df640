import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { judgeSkipped } from './allowed-skips.mjs'
import { GOALS, goalsIn, scriptsOfGoals } from './goal-list.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

test('each of the reliability goals R1 to R35 has a script in test/', () => {
  const goals = Array.from({ length: 35 }, (_, n) => `R${n + 1}`)
  expect(Object.keys(GOALS)).toEqual(goals)
  const scripts = scriptsOfGoals()
  expect(goals.filter((goal) => scripts.get(goal)?.length === 0)).toEqual([])
})

test('each of the reliability goals R1 to R35 has a figure in the table of npm run goals', () => {
  const without = [...scriptsOfGoals()].filter(([goal, files]) => {
    const printed = new RegExp(`(?:figure|inRounds)\\(\\s*'${goal}'`)
    return !files.some((file) => printed.test(readFileSync(join(root, file), 'utf8')))
  })
  expect(without.map(([goal]) => goal)).toEqual([])
})

test('the goals run at full length every night, as root and with what they need, and a skipped test that a machine can run fails there', () => {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const { on, permissions, jobs } = parse(read('.github/workflows/goals.yml'))
  expect(on.schedule).toEqual([{ cron: expect.stringMatching(/^\d+ \d+ \* \* \*$/) }])
  expect(permissions).toEqual({ contents: 'read' })
  const [, , goals, leftovers] = jobs.goals.steps
  expect(goals).toEqual({ run: 'sudo env "PATH=$PATH" CI=true npm run goals' })
  expect(leftovers).toEqual({ run: expect.stringContaining('node scripts/leftovers.mjs'), if: 'always()' })
  expect(JSON.parse(read('package.json')).scripts.goals).toBe('node scripts/goals.mjs')
  expect(read('scripts/goals.mjs')).toMatch(/process\.exitCode = .*isIncomplete\(\)/)
})

test('a goal is found by its whole number, in a title or a comment', () => {
  expect(goalsIn('R3, R21: kill -9; figure(R10), not R36, R0, XR4 or R1x')).toEqual(['R3', 'R21', 'R10'])
})

test.runIf(process.platform === 'linux')(
  'a skipped test is printed with the reason, and in CI one that a new machine can run is a failure',
  () => {
    const tests = [
      { file: 'src/kernel/config/config.test.ts', name: 'a setting', status: 'skipped' },
      { file: 'src/kernel/config/config.test.ts', name: 'another one', status: 'passed' },
      { file: 'test/e2e/swagger-ui.test.ts', name: 'a server can be added from /docs', status: 'skipped' },
      { file: 'test/e2e/fresh-clone.test.ts', name: 'npm start', status: 'skipped' },
    ]
    const here = judgeSkipped(tests, false)
    expect(here).toEqual({
      unexpected: 1,
      lines: [
        'skipped  src/kernel/config/config.test.ts > a setting: NO KNOWN REASON',
        expect.stringContaining('no Chromium was found'),
        expect.stringContaining('not a git checkout'),
      ],
    })
    expect(judgeSkipped(tests, true).unexpected).toBe(2)
  },
)

test('a test that is skipped without a system package is printed with the name of the package', () => {
  const file = 'test/e2e/swagger-ui.test.ts'
  const tests = [{ file, name: 'a server can be added from /docs', status: 'skipped' }]
  expect(judgeSkipped(tests, false, 'linux', ['chromium']).lines).toEqual([
    `skipped  ${file} > a server can be added from /docs: not installed: chromium (apt-get install chromium)`,
  ])
})
