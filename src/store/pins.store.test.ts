import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { expect, test } from 'vitest'
import { changingServer } from '../../test/support/changing-server.ts'
import { Agent, newKey } from '../../test/support/gateway.ts'
import { post } from '../../test/support/running-servers.ts'
import { openTestService } from '../../test/support/test-service.ts'
import type { Tool } from '../kernel/tool-fields.ts'
import { kyselyDialect } from './configuration/configuration.ts'
import { MIGRATIONS } from './configuration/migrations.ts'
import { openSqlite } from './sqlite/sqlite.ts'

const READ = { name: 'read', description: 'Reads a file', inputSchema: { type: 'object' } }
const env = { HOLD_CHANGED_TOOLS: 'true' }

/** The number of schema changes before pins had a kind. */
const EARLIER = 7

/** Rewrites the database as the version that pinned tools only would have, without stored catalogues. */
async function downgrade(path: string): Promise<void> {
  const earlier = openSqlite(`${path}-earlier`)
  const db = new Kysely<never>({ dialect: kyselyDialect(earlier) })
  for (const step of MIGRATIONS.slice(0, EARLIER)) await step(db)
  earlier.exec(`PRAGMA user_version = ${EARLIER}; ATTACH '${path}' AS later`)
  for (const table of ['meta', 'tool_servers', 'audit', 'wishes']) {
    const columns = earlier.prepare(`PRAGMA main.table_info(${table})`).all()
    const names = columns.map(({ name }) => name).join()
    earlier.exec(`INSERT INTO main.${table} SELECT ${names} FROM later.${table}`)
  }
  earlier.exec(`INSERT INTO tool_pins SELECT server_id, name, hash, definition, approved_at, seen_hash, seen_at
    FROM later.pins WHERE kind = 'tool'`)
  earlier.close()
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
  renameSync(`${path}-earlier`, path)
}

test('approved tools of an earlier version stay approved, and what is not among them is held', async () => {
  const service = await openTestService({ env })
  const server = changingServer([READ])
  await server.add(service)
  await post(service, '/api/servers/changing/start')
  await service.close()
  await downgrade(join(service.data, 'toolroom.db'))
  server.write([READ, { ...READ, name: 'added' }])
  const again = await openTestService({ home: service.home, env })
  await post(again, '/api/servers/changing/start')
  const { items } = (await again.inject('/api/servers/changing/tools')).json<{ items: Tool[] }>()
  expect(items.map(({ name, state }) => [name, state])).toEqual([
    ['tell', 'ok'],
    ['read', 'ok'],
    ['added', 'held'],
  ])
  const agent = await Agent.open(again, await newKey(again), 'legacy')
  expect((await agent.call('changing__read')).answers[0]).toHaveProperty('result')
})
