import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../../test/support/home-env.ts'
import { runningInstance } from '../../kernel/config/find-running-instance.ts'
import { FactBus, type Facts } from '../../kernel/fact-bus.ts'
import { Vault } from '../../kernel/secrets/vault.ts'
import { lockDataFolder } from '../instance-lock.ts'
import { openVault } from '../open-vault.ts'
import { ServerTable } from '../servers.store.ts'
import { openSqlite } from '../sqlite/sqlite.ts'
import { ConfigurationDatabase } from './configuration.ts'

const facts = new FactBus((error) => {
  throw error
})

async function openIn(
  folder: string,
  more: { afterDamage?: 'restore' | 'start_empty'; busyMs?: number } = {},
) {
  const database = await ConfigurationDatabase.open({ folder, facts, ...more })
  onTestFinished(() => database.close().catch(() => {}))
  return database
}

const vault = new Vault(Buffer.alloc(32, 7))
const record = {
  id: 'a',
  name: 'a',
  created_at: 1,
  updated_at: 1,
  revision: 1,
  tools: {},
  expose: true,
  outgoing_allowed: [],
  env: { KEY: 'canary-secret-value' },
}
const audit = { action: 'server_added', subject: 'a', request_id: null, detail: {} }

async function addServer(database: ConfigurationDatabase) {
  const table = await ServerTable.open(database, vault, 10)
  await table.of('stdio').insert(record, audit)
}

const newestBackup = (folder: string): string | undefined =>
  readdirSync(join(folder, 'backups')).sort().at(-1)

/** A data folder with one server, and a backup that contains it. */
async function filledFolder(): Promise<string> {
  const folder = ownFolder()
  const database = await openIn(folder)
  await addServer(database)
  await database.backUp()
  await database.close()
  return folder
}

/** Windows refuses to delete a file that is open. */
const CAN_DELETE_OPEN = process.platform !== 'win32'

describe('database file', () => {
  test('the database, its journals and its backups are readable only by their owner', async () => {
    const folder = ownFolder()
    await addServer(await openIn(folder))
    for (const name of readdirSync(folder).filter((each) => each.startsWith('toolroom.db'))) {
      expect(statSync(join(folder, name)).mode & 0o777, name).toBe(PRIVATE_FILE)
    }
    expect(statSync(join(folder, 'backups')).mode & 0o777).toBe(PRIVATE_FOLDER)
  })

  test('the database, its journal and its backups contain no secret in plain text', async () => {
    const folder = await filledFolder()
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    expect(files.length).toBeGreaterThan(2)
    for (const { parentPath, name } of files) {
      expect(readFileSync(join(parentPath, name)).includes('canary-secret-value'), name).toBe(false)
    }
  })

  test('every change is in a backup as soon as the database is closed, before the next start', async () => {
    const folder = ownFolder()
    const database = await openIn(folder)
    await addServer(database) // the first change is backed up at once
    await database.audit({ ...audit, subject: 'the last change' })
    await database.close()
    const backups = readdirSync(join(folder, 'backups')).sort()
    const newest = openSqlite(join(folder, 'backups', backups.at(-1) ?? ''))
    onTestFinished(() => newest.close())
    const subjects = newest.prepare('SELECT subject FROM audit ORDER BY id').all()
    expect(subjects.map(({ subject }) => subject)).toEqual(['a', 'the last change'])
  })

  test('the first change is backed up at once, and changes before a kill are backed up at the next start', async () => {
    const folder = ownFolder()
    const database = await openIn(folder)
    await database.audit({ ...audit, subject: 'first' })
    expect(newestBackup(folder)).toMatch(/-1\.db$/)
    await database.audit({ ...audit, subject: 'second' })
    expect(newestBackup(folder)).toMatch(/-1\.db$/)
    const killed = ownFolder() // the files as a kill leaves them
    cpSync(folder, killed, { recursive: true })
    await openIn(killed)
    expect(newestBackup(killed)).toMatch(/-2\.db$/)
  })

  test('the database uses WAL and synchronous=FULL', async () => {
    const { db } = await openIn(ownFolder())
    const { sql } = await import('kysely')
    expect((await sql`pragma journal_mode`.execute(db)).rows).toEqual([{ journal_mode: 'wal' }])
    expect((await sql`pragma synchronous`.execute(db)).rows).toEqual([{ synchronous: 2 }])
  })
})

describe('change', () => {
  test('the audited fact is published after a change is committed with its audit row', async () => {
    const database = await openIn(ownFolder())
    const published: Facts['audited'][] = []
    onTestFinished(facts.on('audited', (fact) => published.push(fact)))
    await addServer(database)
    expect(published).toMatchObject([{ audit_id: 1, action: 'server_added', subject: 'a' }])
  })

  test('a change whose audit row cannot be written is rolled back', async () => {
    const database = await openIn(ownFolder())
    const { sql } = await import('kysely')
    await sql`create trigger no_audit before insert on audit begin select raise(abort, 'no room'); end`.execute(
      database.db,
    )
    await expect(addServer(database)).rejects.toThrow('no room')
    expect(await database.db.selectFrom('tool_servers').selectAll().execute()).toEqual([])
  })

  /** A write lock that another program holds. */
  function lockedByOther(folder: string) {
    const other = openSqlite(join(folder, 'toolroom.db'))
    onTestFinished(() => other.close())
    other.exec('BEGIN IMMEDIATE')
    return other
  }

  test('a change waits for the lock of another program, and timers fire meanwhile', async () => {
    const folder = ownFolder()
    const database = await openIn(folder, { busyMs: 600_000 })
    const other = lockedByOther(folder)
    const change = addServer(database).then(() => 'stored')
    for (let tick = 0; tick < 5; tick += 1)
      expect(await Promise.race([change, sleep(20, 'pending')])).toBe('pending')
    other.exec('ROLLBACK')
    expect(await change).toBe('stored')
  })

  test('a change fails with store_busy when another program keeps its lock, and succeeds after that', async () => {
    const folder = ownFolder()
    const database = await openIn(folder, { busyMs: 50 })
    const other = lockedByOther(folder)
    await expect(addServer(database)).rejects.toMatchObject({ code: 'store_busy', retryAfterS: 2 })
    other.exec('ROLLBACK')
    await addServer(database)
  })
})

describe('damage', () => {
  const fileIn = (folder: string) => join(folder, 'toolroom.db')

  test.each([
    ['a truncated file', (path: string) => truncateSync(path, 5000)],
    ['a file of 0 bytes', (path: string) => truncateSync(path, 0)],
    ['a file of noise', (path: string) => writeFileSync(path, randomBytes(20_000))],
    [
      'an overwritten header',
      (path: string) =>
        writeFileSync(path, Buffer.concat([Buffer.alloc(64, 1), readFileSync(path).subarray(64)])),
    ],
    ['a deleted file', (path: string) => rmSync(path)],
  ])(
    '%s stops the start with instructions, and is never replaced by an empty database',
    async (_, damage) => {
      const folder = await filledFolder()
      damage(fileIn(folder))
      for (const attempt of [1, 2]) {
        const refusal = openIn(folder)
        await expect(refusal, `attempt ${attempt}`).rejects.toMatchObject({
          name: 'StartError',
          exitCode: 65,
        })
        await expect(refusal).rejects.toThrow(/--restore .*backups.*--start-empty/)
      }
      const restored = await openIn(folder, { afterDamage: 'restore' })
      const table = await ServerTable.open(restored, vault, 10)
      expect(await table.of('stdio').all()).toEqual([record])
    },
  )

  test.runIf(CAN_DELETE_OPEN)(
    'a database that is lost after its very first change is reported as missing',
    async () => {
      const folder = ownFolder()
      const database = await openIn(folder)
      await addServer(database) // not closed: the first change has already taken a backup
      rmSync(fileIn(folder))
      await expect(openIn(folder)).rejects.toThrow(
        'toolroom.db is missing; start with --restore to continue from the backup',
      )
    },
  )

  test('--restore replaces a damaged database by the backup in a single start', async () => {
    const folder = await filledFolder()
    writeFileSync(fileIn(folder), randomBytes(20_000))
    const restored = await openIn(folder, { afterDamage: 'restore' })
    expect(await (await ServerTable.open(restored, vault, 10)).of('stdio').all()).toEqual([record])
    expect(readdirSync(folder).some((name) => name.includes('.damaged-'))).toBe(true)
  })

  test('a damaged file is kept, and --start-empty starts without data', async () => {
    const folder = await filledFolder()
    const noise = randomBytes(20_000)
    writeFileSync(fileIn(folder), noise)
    await expect(openIn(folder)).rejects.toThrow('set aside')
    const aside = readdirSync(folder).find((name) => name.includes('.damaged-')) ?? ''
    expect(readFileSync(join(folder, aside)).equals(noise)).toBe(true)
    const empty = await openIn(folder, { afterDamage: 'start_empty' })
    expect(await (await ServerTable.open(empty, vault, 10)).of('stdio').all()).toEqual([])
  })

  test('a row that cannot be decrypted counts as damage', async () => {
    const folder = await filledFolder()
    const sqlite = openSqlite(fileIn(folder))
    sqlite.exec(`update tool_servers set sealed_fields = replace(sealed_fields, 'v1:', 'v1:AAAA')`)
    sqlite.close()
    await expect(ServerTable.open(await openIn(folder), vault, 10)).rejects.toThrow(
      "the server 'a' cannot be read",
    )
  })

  test.each(['name', 'open_fields', 'type', 'revision', 'id'])(
    'the column %s changed by another program counts as damage',
    async (column) => {
      const folder = await filledFolder()
      const sqlite = openSqlite(fileIn(folder))
      const values: Record<string, string> = { type: "'http'", revision: '7' }
      sqlite.exec(
        `update tool_servers set ${column} = ${values[column] ?? `replace(${column}, 'a', 'b') || ' '`}`,
      )
      sqlite.close()
      await expect(ServerTable.open(await openIn(folder), vault, 10)).rejects.toThrow('cannot be read')
    },
  )

  test('an empty file left by a crash during the first start does not count as damage', async () => {
    const folder = ownFolder()
    writeFileSync(fileIn(folder), '')
    await openIn(folder)
  })

  test('a database of a newer version is refused and not changed', async () => {
    const folder = await filledFolder()
    const sqlite = openSqlite(fileIn(folder))
    sqlite.exec('PRAGMA user_version = 99')
    sqlite.close()
    await expect(openIn(folder)).rejects.toMatchObject({ exitCode: 78 })
    expect(existsSync(fileIn(folder))).toBe(true)
  })

  test.runIf(CAN_DELETE_OPEN)('check fails when the database file was deleted', async () => {
    const folder = await filledFolder()
    const database = await openIn(folder)
    await database.check()
    copyFileSync(fileIn(folder), `${fileIn(folder)}.copy`)
    rmSync(fileIn(folder))
    await expect(database.check()).rejects.toThrow('moved or deleted')
  })
})

describe('secret key', () => {
  const source = (key: Buffer | undefined) => ({
    file: '/the/secret.key',
    find: () => key,
    create: () => Buffer.alloc(32, 9),
  })

  test('a secret key is created only while nothing is encrypted', async () => {
    const folder = ownFolder()
    const database = await openIn(folder)
    const made = await openVault(database, source(undefined))
    const table = await ServerTable.open(database, made, 10)
    await table.of('stdio').insert(record, audit)
    await expect(openVault(database, source(undefined))).rejects.toMatchObject({ exitCode: 78 })
    await expect(openVault(database, source(undefined))).rejects.toThrow(
      'The secret key for the stored secrets is missing; restore /the/secret.key, or set TOOLROOM_SECRET_KEY',
    )
    await expect(openVault(database, source(randomBytes(32)))).rejects.toThrow(
      'The secret key does not match the stored secrets',
    )
    await openVault(database, source(Buffer.alloc(32, 9)))
    await database.db.updateTable('meta').set({ value: 'v1:damaged' }).execute()
    await openVault(database, source(Buffer.alloc(32, 9))) // the check is damaged, but the key is correct
    await expect(openVault(database, source(randomBytes(32)))).rejects.toThrow(
      'The secret key does not match the stored secrets',
    )
  })
})

test('a data folder allows one instance until its lock is released', () => {
  const folder = ownFolder()
  const lockFolder = () => lockDataFolder(folder, runningInstance)
  const first = lockFolder()
  expect(lockFolder).toThrow('in use by another Toolroom')
  first.announce('http://127.0.0.1:1')
  expect(lockFolder).toThrow(/in use by the Toolroom at http:\/\/127.0.0.1:1 \(process \d+\)/)
  expect(runningInstance(folder)).toEqual({ pid: process.pid, address: 'http://127.0.0.1:1' })
  first.release()
  lockFolder().release()
  expect(statSync(join(folder, 'lock.db')).mode & 0o777).toBe(PRIVATE_FILE)
  chmodSync(folder, 0o700)
})

test.runIf(process.platform === 'linux')(
  'instance.json is trusted only while its process holds the lock of the folder, and not because its pid is in use',
  () => {
    const folder = ownFolder()
    const file = join(folder, 'instance.json')
    const first = lockDataFolder(folder, runningInstance)
    first.announce('http://127.0.0.1:1')
    const left = readFileSync(file, 'utf8')
    first.release()
    writeFileSync(file, left) // as a killed service leaves it; its pid is in use, by this process
    expect(runningInstance(folder)).toBeUndefined()
    const second = lockDataFolder(folder, runningInstance)
    onTestFinished(() => second.release())
    writeFileSync(file, JSON.stringify({ pid: process.ppid, address: 'http://127.0.0.1:2' }))
    expect(runningInstance(folder), 'another process than the one with the lock').toBeUndefined()
    expect(() => lockDataFolder(folder, runningInstance)).toThrow('in use by another Toolroom')
    for (const text of ['', '{', '[]', '{"pid":"1"}', `{"pid":${process.pid}}`]) {
      writeFileSync(file, text)
      expect(runningInstance(folder), text).toBeUndefined()
    }
  },
)

test('every changed state is backed up, and the last seven backups are kept', async () => {
  const folder = ownFolder()
  for (let round = 0; round < 10; round += 1) {
    const database = await openIn(folder)
    const table = await ServerTable.open(database, vault, 100)
    await table.of('stdio').insert({ ...record, id: `s${round}`, name: `s${round}` }, audit)
    await database.close()
  }
  expect(readdirSync(join(folder, 'backups'))).toHaveLength(7)
})
