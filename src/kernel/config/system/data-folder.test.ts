import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
import { PRIVATE_FOLDER } from '../../../../test/support/home-env.ts'
import { launch } from '../../../../test/support/program.ts'
import { AUTHORISED as headers, openTestService } from '../../../../test/support/test-service.ts'
import { openSqlite } from '../../../store/sqlite/sqlite.ts'

/** Every file and folder below a path, with its mode, its time of change and its content. */
function photo(folder: string): string[] {
  const names = (readdirSync(folder, { recursive: true }) as string[]).sort()
  return ['', ...names].map((name) => {
    const { mode, mtimeMs, size, ino } = lstatSync(join(folder, name))
    const isFile = lstatSync(join(folder, name)).isFile()
    const content = isFile ? readFileSync(join(folder, name), 'hex') : ''
    return `${name} ${mode.toString(8)} ${mtimeMs} ${isFile ? size : ''} ${ino} ${content}`
  })
}

/** Folders that a user may name by mistake, each with what an earlier Toolroom would have deleted or changed. */
const FOREIGN: Record<string, (folder: string) => void> = {
  'a checkout with a packages folder': (folder) => {
    mkdirSync(join(folder, 'packages/app/1.0.0'), { recursive: true })
    writeFileSync(join(folder, 'packages/app/index.js'), 'mine')
    writeFileSync(join(folder, 'packages/app/1.0.0/index.js'), 'mine')
  },
  'temporary files of another program': (folder) => {
    writeFileSync(join(folder, 'draft.0123456789ab.tmp'), 'mine')
    mkdirSync(join(folder, 'backups'))
    writeFileSync(join(folder, 'backups/photos.tmp'), 'mine')
  },
  'a folder of notes': (folder) => {
    mkdirSync(join(folder, 'agent-locks'))
    writeFileSync(join(folder, 'agent-locks/note.json'), '{}')
  },
  'a toolroom.db of another program': (folder) => {
    const database = openSqlite(join(folder, 'toolroom.db'))
    database.exec('CREATE TABLE rooms (id INTEGER); PRAGMA user_version = 3')
    database.close()
  },
  'a toolroom.db that is no database': (folder) => writeFileSync(join(folder, 'toolroom.db'), 'my notes'),
  'an empty toolroom.db': (folder) => writeFileSync(join(folder, 'toolroom.db'), ''),
  'a file called backups': (folder) => writeFileSync(join(folder, 'backups'), 'mine'),
  // On Windows only an administrator may make such a link.
  ...(process.platform !== 'win32' && {
    'a toolroom.db that is a link to itself': (folder: string) =>
      symlinkSync('toolroom.db', join(folder, 'toolroom.db')),
  }),
  'a marker of another program': (folder) => writeFileSync(join(folder, '.toolroom'), 'my notes'),
}

test.each(Object.keys(FOREIGN))(
  'a start with TOOLROOM_HOME at %s ends with exit 78 and changes no byte, mode or time of it',
  async (kind) => {
    const folder = join(ownFolder(), 'mine')
    mkdirSync(folder)
    FOREIGN[kind]?.(folder)
    writeFileSync(join(folder, '.env'), 'LOG_LEVEL=debug\n')
    chmodSync(folder, 0o755)
    const before = photo(folder)
    await expect(openTestService({ env: { TOOLROOM_HOME: folder } })).rejects.toMatchObject({
      exitCode: 78,
      message: expect.stringContaining(`${folder} is not empty and was not made by Toolroom`),
    })
    expect(photo(folder)).toEqual(before)
  },
)

test('the built service ends with exit 78 and one line when TOOLROOM_HOME is a folder with other content', async () => {
  const folder = ownFolder()
  mkdirSync(join(folder, 'packages'))
  writeFileSync(join(folder, 'packages/mine.js'), 'mine')
  chmodSync(folder, 0o755)
  const before = photo(folder)
  const { code, stderr, stdout } = await launch({ env: { TOOLROOM_HOME: folder } }).ended
  expect({ code, stdout }).toEqual({ code: 78, stdout: '' })
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(photo(folder)).toEqual(before)
})

test.runIf(process.platform !== 'win32')(
  'a start never waits for a FIFO in the place of the marker, and ends with exit 78',
  async () => {
    const folder = ownFolder()
    execFileSync('mkfifo', [join(folder, '.toolroom')])
    const { code } = await launch({ env: { TOOLROOM_HOME: folder } }).ended
    expect(code).toBe(78)
  },
)

test('a folder that holds only .env, config.json and lost+found counts as empty and is adopted', async () => {
  const folder = ownFolder()
  mkdirSync(join(folder, 'lost+found'))
  writeFileSync(join(folder, '.env'), 'LOG_LEVEL=debug\n')
  writeFileSync(join(folder, 'config.json'), '{"log_max_mb": 16}')
  chmodSync(folder, 0o755)
  const service = await openTestService({ env: { TOOLROOM_HOME: folder } })
  await service.close()
  expect(statSync(folder).mode & 0o777).toBe(PRIVATE_FOLDER)
  expect(readFileSync(join(folder, '.toolroom'), 'utf8')).toContain('Toolroom')
})

test.each(['stopped', 'killed before its first checkpoint'])(
  'an installation without a marker that was %s goes on working and gets its marker',
  async (end) => {
    const home = ownFolder()
    const first = await openTestService({ home })
    await first.inject({ method: 'POST', url: '/api/servers', headers, body: { name: 'kept', command: 'x' } })
    const { data } = first
    // A copy of a folder in use is what a killed service leaves.
    const copied = end === 'stopped' ? undefined : copyOf(data)
    await first.close()
    if (copied) for (const [name, bytes] of copied) writeFileSync(join(data, name), bytes)
    rmSync(join(data, '.toolroom'))
    const again = await openTestService({ home })
    expect((await again.inject('/api/servers/kept')).statusCode).toBe(200)
    expect(existsSync(join(data, '.toolroom'))).toBe(true)
  },
)

const copyOf = (folder: string): [string, Buffer][] =>
  readdirSync(folder)
    .filter((name) => /^toolroom\.db/.test(name))
    .map((name) => [name, readFileSync(join(folder, name))])

test('an installation without a marker whose database was lost is still asked to restore its backup', async () => {
  const home = ownFolder()
  const first = await openTestService({ home })
  await first.inject({ method: 'POST', url: '/api/servers', headers, body: { name: 'kept', command: 'x' } })
  await first.close()
  for (const name of ['.toolroom', 'toolroom.db']) rmSync(join(first.data, name))
  await expect(openTestService({ home })).rejects.toMatchObject({ exitCode: 65 })
})

test('a start deletes only what Toolroom itself left: its own temporary files, staged packages and lock notes', async () => {
  const home = ownFolder()
  const { data, close } = await openTestService({ home })
  await close()
  const put = (path: string, content = 'mine') => {
    mkdirSync(join(data, path, '..'), { recursive: true })
    writeFileSync(join(data, path), content)
  }
  const mine = [
    'notes.0123456789ab.tmp',
    '.notes.0123456789ab.tmp',
    'backups/photos.tmp',
    'packages/own/readme.txt',
    'packages/own/1.0.0/index.js',
    'packages/.staging/own/index.js',
    'packages/loose.txt',
    'agent-locks/note.json',
    'agent-locks/0123456789ab.json.bak',
  ]
  for (const path of mine) put(path)
  const link = join(data, 'packages/own/link')
  if (process.platform !== 'win32') symlinkSync('/nowhere', link) // a user of Windows may not make one
  // Neither a start nor a change of an agent's file fails because of a folder with the name of a temporary file.
  const folders = [join(data, '.token.abcdef012345.tmp'), join(home, '.cursor/.mcp.json.abcdef012345.tmp')]
  for (const folder of folders) mkdirSync(folder, { recursive: true })
  const ours = [
    '.token.0123456789ab.tmp',
    '.instance.json.0123456789ab.tmp',
    '.reserve.0123456789ab.tmp',
    '.child-mark.0123456789ab.tmp',
    '.toolroom.db.0123456789ab.tmp',
    'backups/toolroom-2026-11-15T09.30.00.000Z-3.db.tmp',
    'agent-locks/0123456789ab.json',
    'packages/.staging/0123456789ab/half/index.js',
    'packages/left/1.0.0/index.js',
  ]
  for (const path of ours) put(path)
  put('packages/left/1.0.0/.toolroom', 'Made by Toolroom\n')
  put('agent-locks/0123456789ab.json', JSON.stringify({ path: '/nowhere', kind: 'file', inode: 1 }))

  const service = await openTestService({ home })
  const change = { method: 'PUT', url: '/api/agents/cursor/servers', headers } as const
  const body = { servers: { docs: { command: 'npx' } } }
  expect((await service.inject({ ...change, body })).statusCode).toBe(200)
  expect(folders.filter((folder) => !existsSync(folder))).toEqual([])
  await expect.poll(() => ours.filter((path) => existsSync(join(data, path)))).toEqual([])
  expect(mine.filter((path) => !existsSync(join(data, path)))).toEqual([])
  if (process.platform !== 'win32') expect(readlinkSync(link)).toBe('/nowhere')
  expect(existsSync(join(data, 'packages/left'))).toBe(false)
})
