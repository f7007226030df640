import { expect, test } from 'vitest'
import { toolsFor } from './system-tools.mjs'
import { filesFor, reasonItIsSlow, sourcesOf, testFiles } from './test-files.mjs'

const packagesFor = (...files: string[]) => toolsFor(files).map((tool) => tool.package)

test('the arguments of npm test select files as vitest does: by a part of their path, and -t by name', () => {
  expect(filesFor([])).toEqual(testFiles())
  expect(filesFor(['scripts/test-files'])).toEqual(['scripts/test-files.test.ts'])
  expect(filesFor(['./scripts/test-files.test.ts:8', '--bail=1'])).toEqual(['scripts/test-files.test.ts'])
  expect(filesFor(['-t', 'scripts/test-files', 'scripts/goals'])).toEqual(['scripts/goals.test.ts'])
})

test('npm test installs only what the given files need, also through a file of test/support', () => {
  expect(packagesFor('test/web/servers.test.ts')).toEqual(['chromium', 'chromium-headless-shell'])
  expect(packagesFor('test/goals/clock.test.ts')).toEqual(['faketime'])
  expect(packagesFor('src/kernel/config/config.test.ts')).toEqual([])
  expect(packagesFor(...testFiles())).toEqual(
    expect.arrayContaining(['chromium', 'prometheus', 'strace', 'bubblewrap', 'docker.io', 'podman', 'tmux']),
  )
})

test('npm run test:quick leaves out what opens a service, a browser or a process, and what it keeps needs no package', () => {
  expect(reasonItIsSlow('test/web/servers.test.ts')).toBe('run in a browser')
  expect(reasonItIsSlow('test/goals/kill.test.ts')).toBe('test the whole program')
  expect(reasonItIsSlow('src/agents/agents.test.ts')).toBe('open the whole service')
  expect(reasonItIsSlow('src/supervisor/supervisor.test.ts')).toBe('start processes')
  const quick = testFiles().filter((file) => reasonItIsSlow(file) === undefined)
  expect(quick).toContain('test/architecture.test.ts')
  expect(quick.filter((file) => file.startsWith('src/')).length).toBeGreaterThan(100)
  expect(packagesFor(...quick)).toEqual([])
})

test('the sources of a test file are its own and those of the files in test/ that it imports', () => {
  const sources = sourcesOf('src/agents/agents.test.ts')
  expect(sources.some((text) => text.includes('export async function openTestService'))).toBe(true)
  expect(sources.some((text) => text.includes('export async function openService'))).toBe(false)
})
