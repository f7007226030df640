import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Checked, sandboxPage } from './sandbox-page.ts'

const file = new URL('../docs/sandbox-checked.json', import.meta.url)
const checked: readonly Checked[] = JSON.parse(readFileSync(file, 'utf8'))

test('docs/sandboxed-servers.md matches the results of the trials', async () => {
  await expect(sandboxPage(checked)).toMatchFileSnapshot('../docs/sandboxed-servers.md')
})

test('at least 20 servers run in the sandbox as they do without isolation', () => {
  const held = checked.filter(({ tools, failures }) => tools > 0 && failures.length === 0)
  expect(held.length).toBeGreaterThanOrEqual(20)
})

test('no server was given everything, the whole home or the files of Toolroom', () => {
  const granted = checked.flatMap(({ write, read }) => [...write, ...read])
  expect(granted.filter((path) => !/^~\/projects\/[\w-]+(?:\/|$)/.test(path))).toEqual([])
})

test('a server that did not hold is on the page with the reason', () => {
  const one: Checked = {
    server: 'notes',
    package: '@acme/notes',
    version: '1.2.3',
    date: '2026-11-16',
    tools: 3,
    write: ['~/projects/notes'],
    read: [],
    network: 'none',
    calls: [{ tool: 'add', isolated: 'failed', not_isolated: 'ok' }],
    refused: [{ path: '~/projects/notes', evidence: "EROFS: a|b `c`, open '~/projects/notes/a'" }],
    lost_files: ['~/.notes/state.json'],
    failures: ['add: failed, but ok without isolation'],
  }
  const page = sandboxPage([one])
  expect(page).toContain(
    '| notes | `@acme/notes` 1.2.3 | 2026-11-16 | 3 | `~/projects/notes` | – | `none` | `add`: failed |',
  )
  expect(page).toContain("| notes | `~/projects/notes` | `EROFS: a\\|b 'c', open '~/projects/notes/a'` |")
  expect(page).toContain('| notes | `~/.notes/state.json` |')
  expect(page).toContain('| notes | add: failed, but ok without isolation |')
  const held = sandboxPage([{ ...one, failures: [], refused: [], lost_files: [] }])
  expect(held.match(/^## .*/gm)).toEqual(['## What each of them needed'])
})
