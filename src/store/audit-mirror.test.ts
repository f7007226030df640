import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../test/support/folder.ts'
import { type House, AUTHORISED as headers, openHouse } from '../../test/support/house.ts'
import { MIB, openDatabase } from '../../test/support/log-database.ts'
import { entry } from '../../test/support/log-model.ts'
import { openSqlite } from './sqlite/sqlite.ts'

const add = (house: House, name: string) =>
  house.inject({ method: 'POST', url: '/api/servers', headers, body: { name, command: 'x' } })

async function auditIds(house: House): Promise<number[]> {
  const { items } = (await house.inject('/api/logs?source=audit&order=asc&limit=1000')).json()
  return items
    .map(({ data }: { data: { audit_id: number } }) => data.audit_id)
    .sort((a: number, b: number) => a - b)
}

test('audit rows that the log has lost are copied to it at the next start, each exactly once', async () => {
  const home = ownFolder()
  const first = await openHouse({ home })
  for (const name of ['a', 'b', 'c', 'd', 'e']) expect((await add(first, name)).statusCode).toBe(201)
  expect(await auditIds(first)).toEqual([1, 2, 3, 4, 5])
  await first.close()
  const logs = openSqlite(join(first.data, 'logs.db'))
  logs.exec("DELETE FROM logs WHERE source = 'audit' AND json_extract(data, '$.audit_id') IN (2, 4)")
  logs.close()
  const again = await openHouse({ home })
  await expect.poll(() => auditIds(again)).toEqual([1, 2, 3, 4, 5])
  await add(again, 'f')
  expect(await auditIds(again)).toEqual([1, 2, 3, 4, 5, 6])
})

test('when a damaged log is replaced while the service runs, the audit rows are copied to the new one', async () => {
  const house = await openHouse()
  for (const name of ['a', 'b', 'c']) await add(house, name)
  expect(await auditIds(house)).toEqual([1, 2, 3])
  const noise = Buffer.alloc(64 * 1024, 'noise ')
  for (const end of ['', '-wal']) {
    const file = openSync(join(house.data, `logs.db${end}`), 'r+')
    writeSync(file, noise, 0, noise.length, 0)
    closeSync(file)
  }
  const ids = async () => {
    await house.inject('/api/logs?limit=1000') // finds the damage
    return auditIds(house).catch(() => [])
  }
  await expect.poll(ids, { timeout: 10_000 }).toEqual([1, 2, 3])
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
