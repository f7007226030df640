import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { type LockFacts, releaseLeftLocks, takeLock } from './agent-lock.ts'

async function withLock<T>(lock: LockFacts, work: () => Promise<T>): Promise<T> {
  const release = await takeLock(lock)
  try {
    return await work()
  } finally {
    release()
  }
}

function lockIn(folder: string, kind: LockFacts['kind']): LockFacts {
  return { path: join(folder, 'config.json.lock'), kind, ledger: join(folder, 'ledger') }
}

test.each(['directory', 'populated-directory', 'file'] as const)(
  'a lock of the kind %s exists during the work and excludes a second holder',
  async (kind) => {
    const folder = ownFolder()
    const lock = lockIn(folder, kind)
    const order: string[] = []
    const first = withLock(lock, async () => {
      expect(existsSync(lock.path)).toBe(true)
      await sleep(80)
      order.push('first')
    })
    const second = withLock(lock, async () => void order.push('second'))
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'second'])
    expect(existsSync(lock.path)).toBe(false)
    expect(readdirSync(lock.ledger)).toEqual([])
  },
)

test('a lock that was not touched for 10 s is taken over, and a fresh lock is reported after a timeout', async () => {
  const folder = ownFolder()
  const lock = lockIn(folder, 'directory')
  mkdirSync(lock.path)
  await expect(withLock(lock, async () => {})).rejects.toMatchObject({ code: 'config_locked' })
  expect(existsSync(lock.path)).toBe(true)
  const longAgo = new Date(Date.now() - 11_000)
  utimesSync(lock.path, longAgo, longAgo)
  expect(await withLock(lock, async () => 'done')).toBe('done')
})

test('a lock of a killed run is released at the next start, and a lock of another program stays', async () => {
  const folder = ownFolder()
  const lock = lockIn(folder, 'directory')
  const held = withLock(lock, () => new Promise<void>(() => {}))
  await expect.poll(() => existsSync(lock.ledger) && readdirSync(lock.ledger).length).toBe(1)
  releaseLeftLocks(lock.ledger)
  expect(existsSync(lock.path)).toBe(false)
  expect(readdirSync(lock.ledger)).toEqual([])
  mkdirSync(lock.path)
  // A note of ours about a lock that has been replaced since, and a file that is no note.
  const note = JSON.stringify({ ...lock, inode: statSync(lock.path).ino + 1, at: Date.now() })
  for (const name of ['0123456789ab.json', 'x.json']) writeFileSync(join(lock.ledger, name), note)
  releaseLeftLocks(lock.ledger)
  expect(existsSync(lock.path)).toBe(true)
  expect(readdirSync(lock.ledger)).toEqual(['x.json'])
  void held
})

test('a lock without a known inode is released if it was made at the moment of its note, and stays if it was touched later', () => {
  for (const [laterMs, isLeft] of [
    [0, false],
    [5_000, true],
  ] as const) {
    const lock = lockIn(ownFolder(), 'directory')
    mkdirSync(lock.path)
    mkdirSync(lock.ledger)
    const at = Date.now()
    const touched = new Date(at + laterMs)
    if (laterMs > 0) utimesSync(lock.path, touched, touched)
    writeFileSync(join(lock.ledger, '0123456789ab.json'), JSON.stringify({ ...lock, inode: null, at }))
    releaseLeftLocks(lock.ledger)
    expect([existsSync(lock.path), readdirSync(lock.ledger)]).toEqual([isLeft, []])
  }
})
