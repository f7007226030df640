import { execFileSync } from 'node:child_process'
import fs, { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readConfig, realFileOf } from '../../src/agents/files/read-config.ts'
import { replaceFile } from '../../src/agents/files/replace-config.ts'

import { makeFolder, markFolder, writeDurably } from '../../src/kernel/files/durable-file.ts'
import { PackageFolders } from '../../src/servers/packages/package-folders.ts'
import { Backups } from '../../src/store/configuration/backups.ts'
import { setAside } from '../../src/store/sqlite/database-file.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { figure } from '../support/figure.ts'
import { record } from '../support/file-operations.cjs'
import { ownFolder } from '../support/folder.ts'
import { runs } from '../support/full-or-short.ts'
import { filesBelow, findings, type Operation } from '../support/power-loss.ts'
import { launchReady } from '../support/program.ts'
import { AUTHORISED } from '../support/test-service.ts'

const PRELOAD = fileURLToPath(new URL('../support/file-operations.cjs', import.meta.url))
const headers = { ...AUTHORISED, 'content-type': 'application/json' }

interface Write {
  /** Prepares the folder and returns the paths to inspect. */
  readonly paths: (folder: string) => string[]
  readonly write: (folder: string, paths: readonly string[]) => unknown
}

const replaced: Write['paths'] = (folder) => {
  writeFileSync(join(folder, 'file'), 'before')
  return [join(folder, 'file')]
}
const change = (path: string, next: string | null) => {
  const root = tmpdir()
  return replaceFile(
    realFileOf(path, root),
    readConfig({ path, root }),
    next === null ? null : Buffer.from(next),
  )
}

/** Every way in which our own code writes a file or a name that must survive a power cut. */
const WRITES: Record<string, Write> = {
  'a new file': {
    paths: (folder) => [join(folder, 'file')],
    write: (_, [path = '']) => writeDurably(path, 'content', 0o600),
  },
  'a replaced file': {
    paths: replaced,
    write: (_, [path = '']) => writeDurably(path, 'content', 0o600),
  },
  'a file in new folders': {
    paths: (folder) => [join(folder, 'a/b/c/file')],
    write: (folder, [path = '']) => {
      makeFolder(join(folder, 'a/b/c'))
      writeDurably(path, 'content', 0o600)
    },
  },
  'a new file of an agent': {
    paths: (folder) => [join(folder, 'new/file')],
    write: (_, [path = '']) => change(path, 'content'),
  },
  'a new file of an agent on a file system without hard links': {
    paths: (folder) => [join(folder, 'file')],
    write: async (_, [path = '']) => {
      const { linkSync } = fs
      fs.linkSync = () => {
        throw Object.assign(new Error('no links'), { code: 'EPERM' })
      }
      syncBuiltinESMExports()
      try {
        await change(path, 'content')
      } finally {
        fs.linkSync = linkSync
        syncBuiltinESMExports()
      }
    },
  },
  'a changed file of an agent': {
    paths: replaced,
    write: (_, [path = '']) => change(path, 'content'),
  },
  'a removed file of an agent': {
    paths: replaced,
    write: (_, [path = '']) => change(path, null),
  },
  'a backup of the database': {
    paths: (folder) => [join(folder, 'backups')],
    write: (folder, paths) => {
      const database = openSqlite(join(folder, 'toolroom.db'))
      database.exec('CREATE TABLE t (x)')
      new Backups(folder).take(database, 1)
      database.close()
      const [name = ''] = readdirSync(join(folder, 'backups'))
      ;(paths as string[]).push(join(folder, 'backups', name))
    },
  },
  'a damaged database that is set aside': {
    paths: (folder) => {
      writeFileSync(join(folder, 'logs.db'), 'noise')
      return [join(folder, 'logs.db')]
    },
    write: (_, paths) => {
      const [path = ''] = paths
      ;(paths as string[]).push(setAside(path))
    },
  },
  'the folder of an installed package': {
    paths: (folder) => {
      mkdirSync(join(folder, 'packages/app'), { recursive: true })
      return [join(folder, 'packages/app/1.0.0')]
    },
    write: (folder) => {
      const folders = new PackageFolders(folder)
      const staging = folders.newStaging()
      mkdirSync(staging, { recursive: true })
      markFolder(staging)
      folders.place(staging, { id: 'app' }, '1.0.0')
    },
  },
  'the link to the installed version': {
    paths: (folder) => {
      mkdirSync(join(folder, 'packages/app'), { recursive: true })
      return [join(folder, 'packages/app/current')]
    },
    write: (folder) => new PackageFolders(folder).use({ id: 'app' }, '1.0.0'),
  },
}

/** The operations of a write, what it wrote, and what was there before. */
async function recorded({ paths, write }: Write) {
  const folder = ownFolder()
  const inspected = paths(folder)
  const existing = filesBelow(folder)
  const operations: Operation[] = []
  const stop = record((operation) => operations.push(operation))
  onTestFinished(stop)
  try {
    await write(folder, inspected)
  } finally {
    stop()
  }
  return { operations, inspected, existing }
}

describe.runIf(process.platform === 'linux')('R2: a power cut after any operation', () => {
  test.each(Object.keys(WRITES))(
    '%s is as before or complete, and certain when the write is done',
    async (name) => {
      const { operations, inspected, existing } = await recorded(WRITES[name] as Write)
      expect(findings(operations, inspected, existing)).toEqual([])
    },
  )

  test.each(Object.keys(WRITES))(
    '%s is lost or torn without any one of its fsyncs, or with one too late',
    async (name) => {
      const { operations, inspected, existing } = await recorded(WRITES[name] as Write)
      const syncs = operations.flatMap(({ op }, index) => (op === 'fsync' ? [index] : []))
      expect(syncs.length).toBeGreaterThan(0)
      const needed = syncs.filter(
        (at) => findings(operations.toSpliced(at, 1), inspected, existing).length > 0,
      )
      // The two of the marker in a package folder, which is not inspected.
      expect(syncs.length - needed.length).toBeLessThanOrEqual(
        name === 'the folder of an installed package' ? 2 : 0,
      )
      for (const at of needed) {
        const sync = operations[at] as Operation
        expect(findings([...operations.toSpliced(at, 1), sync], inspected, existing), String(at)).not.toEqual(
          [],
        )
      }
    },
  )

  test('the service makes its token, keys, marks and an agent file certain before it uses or acknowledges them', async () => {
    const home = ownFolder()
    const agentFile = join(home, '.cursor/mcp.json')
    mkdirSync(join(home, '.cursor'))
    mkdirSync(join(home, '.local/share'), { recursive: true })
    mkdirSync(join(home, '.config'))
    writeFileSync(agentFile, '{"mcpServers": {"mine": {"command": "x"}}}')
    const existing = filesBelow(home)
    const log = join(ownFolder(), 'operations')
    const env = { TOOLROOM_OPERATIONS: log, NODE_OPTIONS: `--require=${PRELOAD}`, AUTH_TOKEN: '' }
    const { address, data, child, ended } = await launchReady({ home, env })
    const token = readFileSync(join(data, 'token'), 'utf8').trim()
    const body = JSON.stringify({ servers: { ours: { command: 'y' } } })
    const reply = await fetch(`${address}/api/agents/cursor/servers`, {
      method: 'PUT',
      headers: { ...headers, 'x-svc-token': token },
      body,
    })
    expect(reply.status, await reply.text()).toBe(200)
    const operations = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Operation)
    const names = ['.toolroom', 'token', 'child-mark', 'reserve', 'instance.json']
    const paths = [
      ...names.map((name) => join(data, name)),
      join(home, '.config/toolroom/secret.key'),
      agentFile,
    ]
    const found = findings(operations, paths, existing)
    expect(found).toEqual([])
    const what = `torn or uncertain files after any of ${operations.length} operations`
    figure('R2', what, found.length, { exactly: 0 })
    child.kill('SIGTERM')
    await ended
  })

  test.runIf(hasStrace())(
    'a change is in the write-ahead log on the disk before its response is sent',
    async () => {
      const log = join(ownFolder(), 'strace')
      const calls = 'trace=pwrite64,fdatasync,fsync,write,writev,sendto'
      const under = ['strace', '-f', '-y', '-s', '30', '-e', calls, '-e', 'signal=none', '-o', log]
      const { address, data, ended } = await launchReady({ under })
      const { pid } = JSON.parse(readFileSync(join(data, 'instance.json'), 'utf8'))
      onTestFinished(() => void signal(pid, 'SIGKILL'))
      const CHANGES = runs(10, 100)
      for (let n = 0; n < CHANGES; n += 1) {
        const body = JSON.stringify({ name: `s${n}`, command: 'x' })
        expect((await fetch(`${address}/api/servers`, { method: 'POST', headers, body })).status).toBe(201)
      }
      signal(pid, 'SIGTERM')
      await ended
      let unsynced = false
      let acknowledged = 0
      let tooEarly = 0
      let written = 0
      for (const line of readFileSync(log, 'utf8').split('\n')) {
        if (/pwrite64\(\d+<[^>]*toolroom\.db-wal>/.test(line)) {
          unsynced = true
          written += 1
        }
        if (/f(?:data)?sync\(\d+<[^>]*toolroom\.db-wal>/.test(line)) unsynced = false
        if (!/HTTP\/1\.1 201/.test(line)) continue
        acknowledged += 1
        if (unsynced) tooEarly += 1
      }
      expect(acknowledged).toBe(CHANGES)
      figure('R2', `of ${CHANGES} changes, acknowledged before they were on the disk`, tooEarly, {
        exactly: 0,
      })
      expect(written).toBeGreaterThanOrEqual(CHANGES)
    },
  )
})

/** The service itself: strace does not pass signals on. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // it has ended
  }
}

function hasStrace(): boolean {
  try {
    execFileSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false // not installed, or tracing is not permitted
  }
}
