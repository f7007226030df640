import { join } from 'node:path'
import { describe, onTestFinished } from 'vitest'
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
