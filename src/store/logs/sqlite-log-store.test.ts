import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { logStoreContract } from '../../../test/log-store.contract.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { SqliteLogStore } from './sqlite-log-store.ts'

describe('SqliteLogStore', () => {
  logStoreContract(() => {
    const fail = (error: unknown) => {
      throw error
    }
    const path = join(ownFolder(), 'logs.db')
    const store = new SqliteLogStore({ path, maxBytes: 64 * 1024 * 1024, onDamaged: fail, onError: fail })
    onTestFinished(() => store.close())
    return store
  }, 30)
})

test('a log that cannot be written says why and what to do, and works again as soon as it can be', async () => {
  const path = join(ownFolder(), 'logs.db')
  mkdirSync(path)
  const troubles: string[] = []
  const onError = (error: Error) => void troubles.push(error.message)
  const onDamaged = (message: string) => void troubles.push(message)
  const store = new SqliteLogStore({ path, maxBytes: 64 * 1024 * 1024, onDamaged, onError })
  onTestFinished(() => store.close())
  expect(troubles).toEqual([expect.stringContaining('The log cannot be read or written: EISDIR')])
  await expect(store.oldest()).rejects.toMatchObject({
    code: 'store_damaged',
    hint: expect.stringContaining('Make logs.db and its folder writable'),
  })
  rmSync(path, { recursive: true })
  expect(await store.oldest()).toBeNull()
})
