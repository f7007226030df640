import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../test/support/folder.ts'
import { MIB, openDatabase } from '../../test/support/log-database.ts'
import { entry } from '../../test/support/log-model.ts'
import { AUTHORISED as headers, openTestService, type TestService } from '../../test/support/test-service.ts'
import { openSqlite } from './sqlite/sqlite.ts'

const add = (service: TestService, name: string) =>
  service.inject({ method: 'POST', url: '/api/servers', headers, body: { name, command: 'x' } })

async function auditIds(service: TestService): Promise<number[]> {
  const { items } = (await service.inject('/api/logs?source=audit&order=asc&limit=1000')).json()
  return items
    .map(({ data }: { data: { audit_id: number } }) => data.audit_id)
    .sort((a: number, b: number) => a - b)
}

test('audit rows that the log has lost are copied to it at the next start, each exactly once', async () => {
  const home = ownFolder()
  const first = await openTestService({ home })
  for (const name of ['a', 'b', 'c', 'd', 'e']) expect((await add(first, name)).statusCode).toBe(201)
  expect(await auditIds(first)).toEqual([1, 2, 3, 4, 5])
  await first.close()
  const logs = openSqlite(join(first.data, 'logs.db'))
  logs.exec("DELETE FROM logs WHERE source = 'audit' AND json_extract(data, '$.audit_id') IN (2, 4)")
  logs.close()
  const again = await openTestService({ home })
  await expect.poll(() => auditIds(again)).toEqual([1, 2, 3, 4, 5])
  await add(again, 'f')
  expect(await auditIds(again)).toEqual([1, 2, 3, 4, 5, 6])
})

test('when a damaged log is replaced while the service runs, the audit rows are copied to the new one', async () => {
  const home = ownFolder()
  const first = await openTestService({ home })
  for (const name of ['a', 'b', 'c']) await add(first, name)
  await first.close()
  const path = join(first.data, 'logs.db')
  const log = openDatabase(path)
  for (let n = 0; n < 20; n += 1)
    log.append(Array.from({ length: 1000 }, () => entry({ message: `line ${n}` })))
  log.close()

  const service = await openTestService({ home })
  expect(await auditIds(service)).toEqual([1, 2, 3])
  const noise = Buffer.alloc(statSync(path).size - 2 * 40_960, 'noise ')
  const file = openSync(path, 'r+')
  writeSync(file, noise, 0, noise.length, 40_960)
  closeSync(file)
  await service.inject('/api/logs?search=absent') // reads everything, and finds the damage
  await expect.poll(() => auditIds(service)).toEqual([1, 2, 3])
  expect(readdirSync(service.data).some((name) => name.startsWith('logs.db.damaged-'))).toBe(true)
})

test('audit rows that left the log with the oldest lines at its limit are not copied to it again', () => {
  const database = openDatabase(join(ownFolder(), 'logs.db'), 8 * MIB)
  const audit = (id: number) => entry({ source: 'audit', data: JSON.stringify({ audit_id: id }) })
  database.append([audit(1), audit(2)])
  for (let n = 0; n < 200; n += 1)
    database.append(Array.from({ length: 100 }, () => entry({ message: 'x'.repeat(1000) })))
  database.append([audit(3)])
  expect(database.auditIds()).toEqual({ trimmed_to: 2, stored: [3] })
})
