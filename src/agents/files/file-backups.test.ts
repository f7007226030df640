import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { Backups } from './file-backups.ts'

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
