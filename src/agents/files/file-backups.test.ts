import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { revisionOf } from '../formats/text-edits.ts'
import { type Backup, Backups } from './file-backups.ts'

test("a clock that was set back neither deletes a new backup of an agent's file nor changes the order of backups, and the first one is never deleted (R16)", () => {
  const backups = new Backups(ownFolder())
  const now = Date.UTC(2026, 10, 15)
  const keep = (n: number) => {
    const facts = { agent_type: 'cursor', scope: 'user', path: '/mcp.json', main: '/mcp.json', names: [] }
    const change = { ts: now - n * 60_000, change: `change ${n}`, action: 'set', after: null } as const
    return backups.keep({ ...facts, ...change, request_id: null }, Buffer.from(`content ${n}`))
  }
  const kept = Array.from({ length: 25 }, (_, n) => keep(n))

  expect(backups.of('cursor')).toEqual([...kept.slice(-20).reverse(), kept[0]])
  for (const [n, backup] of kept.slice(-20).entries())
    expect(backups.content(backup)?.toString()).toBe(`content ${n + 5}`)
  expect(
    backups
      .of('cursor')
      .map((backup) => backups.content(backup)?.toString())
      .at(-1),
  ).toBe('content 0')
  expect(backups.of('cursor')[0]?.ts).toBe(now - 24 * 60_000)
})

const FACTS = { agent_type: 'cursor', scope: 'user', path: '/mcp.json', main: '/mcp.json', names: [] }

/** A change from one content to another. Null: there is no file. */
function change(backups: Backups, from: string | null, to: string | null, action: Backup['action'] = 'set') {
  const after = to === null ? null : revisionOf(Buffer.from(to))
  const facts = { ...FACTS, ts: 1, change: 'a change', action, after, request_id: null }
  return backups.keep(facts, from === null ? null : Buffer.from(from))
}

test('a backup that was damaged or deleted has no content, so that nothing else is written into the file of an agent', () => {
  const folder = ownFolder()
  const backups = new Backups(folder)
  const [whole, damaged, missing, none] = [
    change(backups, 'a', 'b'),
    change(backups, 'b', 'c'),
    change(backups, 'c', 'd'),
    change(backups, null, 'e'),
  ]
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const fileOf = ({ id }: Backup) => join(folder, files.find((name) => name.endsWith(`${id}.before`)) ?? '')
  writeFileSync(fileOf(damaged), 'B')
  rmSync(fileOf(missing))
  expect(backups.content(whole)?.toString()).toBe('a')
  expect([damaged, missing, none].map((each) => backups.content(each))).toEqual([undefined, undefined, null])
  expect([whole, missing, none].map((each) => backups.sizeOf(each))).toEqual([1, null, null])
})

test('a file is unbroken until another program writes to it: only then does it get back the bytes of its first backup', () => {
  const ours = new Backups(ownFolder())
  const chain = [change(ours, 'a', 'b'), change(ours, 'b', 'c'), change(ours, 'c', null)]
  expect(chain.map(({ unbroken }) => unbroken)).toEqual([true, true, true])
  expect(change(ours, null, 'd').unbroken).toBe(true)

  const theirs = new Backups(ownFolder())
  const broken = [change(theirs, 'a', 'b'), change(theirs, 'x', 'c'), change(theirs, 'c', 'd')]
  expect(broken.map(({ unbroken }) => unbroken)).toEqual([true, false, false])
  const during = new Backups(ownFolder())
  expect(change(during, 'a', 'b').unbroken).toBe(true)
  expect(change(during, 'b', 'c', 'foreign_edit').unbroken).toBe(false)
})
