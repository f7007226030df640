import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { put as write } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { FactBus } from '../../kernel/facts.ts'
import { type Backup, Backups } from '../files/backups.ts'
import type { DesiredEntry } from './desired-entry.ts'
import { createEdit } from './edit.service.ts'
import { createGatewayConnection } from './gateway-connection.ts'
import type { FileRecord } from './ownership.ts'
import { createUndo } from './undo.ts'

const BY = { request_id: null }
const DOCS: DesiredEntry = {
  name: 'docs',
  server_id: null,
  definition: () => ({ type: 'stdio', command: 'npx', args: [], env: {}, cwd: null }),
  enabled: undefined,
}

class CountingBackups extends Backups {
  restored = 0
  onKeep = (): void => {}

  override keep(...args: Parameters<Backups['keep']>): Backup {
    const backup = super.keep(...args)
    this.onKeep()
    return backup
  }

  override content(backup: Backup): Buffer | null | undefined {
    this.restored += 1
    return super.content(backup)
  }
}

/** The edit service of a user whose only agent is Cursor, and a counter of computed changes. */
function cursorHome() {
  const home = ownFolder()
  const file = write(home, '.cursor/mcp.json', '{"mcpServers": {}}\n')
  const records = new Map<string, FileRecord>()
  const deps = {
    platform: {
      os: 'linux' as const,
      home,
      env: {},
      exists: existsSync,
      list: (folder: string) => readdirSync(folder),
    },
    facts: new FactBus((error) => {
      throw error
    }),
    backups: new CountingBackups(ownFolder()),
    ownership: {
      all: () => [...records.values()],
      save: async (record: FileRecord) => void records.set(record.path, record),
    },
    now: Date.now,
    lockLedger: join(home, 'locks'),
    registered: async () => [],
  }
  const edit = createEdit(deps)
  let computed = 0
  const put = (options: { dry_run?: boolean }, onCompute = () => {}) =>
    edit.put(
      'cursor',
      options,
      BY,
      () => {
        computed += 1
        onCompute()
        return [DOCS]
      },
      false,
    )
  return { deps, edit, file, put, computed: () => computed }
}

const names = (file: string) => Object.keys(JSON.parse(readFileSync(file, 'utf8')).mcpServers)

test('a dry run computes the change once', async () => {
  const { put, file, computed } = cursorHome()
  expect(await put({ dry_run: true })).toMatchObject({ added: ['docs'], backup_id: null })
  expect([computed(), names(file)]).toEqual([1, []])
})

test('a write computes the change once: the preview and the write share the plan', async () => {
  const { put, file, computed } = cursorHome()
  expect(await put({})).toMatchObject({ added: ['docs'] })
  expect([computed(), names(file)]).toEqual([1, ['docs']])
})

test('a change is computed again if another program changes the file before the write', async () => {
  const { put, file, computed } = cursorHome()
  const theirs = '{"mcpServers": {"theirs": {"command": "x"}}}\n'
  await put({}, () => writeFileSync(file, theirs))
  expect([computed(), names(file)]).toEqual([2, ['theirs', 'docs']])
})

test('a change is computed again if another program changes the file during the write', async () => {
  const { deps, put, file, computed } = cursorHome()
  deps.backups.onKeep = () => {
    deps.backups.onKeep = () => {}
    writeFileSync(file, '{"mcpServers": {"theirs": {"command": "x"}}}\n')
  }
  await put({})
  expect([computed(), names(file)]).toEqual([2, ['theirs', 'docs']])
})

test('a change is not computed again if another program rewrites the file with the same bytes', async () => {
  const { deps, put, file, computed } = cursorHome()
  const bytes = readFileSync(file)
  deps.backups.onKeep = () => {
    deps.backups.onKeep = () => {}
    rmSync(file)
    writeFileSync(file, bytes)
  }
  await put({})
  expect([computed(), names(file)]).toEqual([1, ['docs']])
})

test('an undo reads and compares the backup once', async () => {
  const { deps, put, file } = cursorHome()
  await put({})
  expect(await createUndo(deps).undo('cursor', {}, BY)).toMatchObject({ removed: ['docs'] })
  expect([deps.backups.restored, names(file)]).toEqual([1, []])
})

test('connecting computes two changes: one with a placeholder and one with the real key', async () => {
  const { deps, edit, file } = cursorHome()
  let computed = 0
  const address = () => {
    computed += 1
    return 'http://127.0.0.1:1'
  }
  const { connect } = createGatewayConnection(edit, deps, {
    address,
    program: { command: 'node', mainFile: 'main.js' },
    make: async () => ({ id: '1', key: 'tk_real' }),
    remove: async () => {},
    idsOf: () => [],
  })
  await connect('cursor', {}, BY)
  expect([computed, names(file)]).toEqual([2, ['toolroom']])
})
