import { onTestFinished } from 'vitest'
import type { ResolvedFilter } from '../../src/observe/logs/log-store.ts'
import { LogDatabase } from '../../src/store/logs/log-database.ts'

/** For tests. */
export const MIB = 1024 * 1024

export function openDatabase(path: string, maxBytes = 64 * MIB): LogDatabase {
  const onDamaged = (message: string) => {
    throw new Error(message)
  }
  const database = new LogDatabase({ path, maxBytes, onDamaged })
  onTestFinished(() => database.close())
  return database
}

/** Up to 1000 lines, oldest first. */
export async function idsOf(database: LogDatabase, filter: ResolvedFilter): Promise<number[]> {
  const { items } = await database.page({ filter, order: 'asc', limit: 1000, after: null })
  return items.map(({ id }) => id)
}

/** Runs all background work. */
export function settle(database: LogDatabase): void {
  while (database.maintain());
}

export const randomText = () =>
  Array.from({ length: 15 }, () => Math.random().toString(36).slice(2, 8)).join(' ')
