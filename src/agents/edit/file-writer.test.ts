import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEdit } from '../../../test/support/agent-edit.ts'
import { put as write } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { agentOf, configTarget } from '../files/config-target.ts'
import type { FileRecord, OwnedEntry } from '../files/ownership-store.ts'
import type { DesiredEntry } from './desired-entry.ts'
import { type CurrentConfig, planSet } from './entry-plan.ts'
import { mergedRecord } from './settle-interrupted-change.ts'

const BY = { request_id: null }
const DOCS: DesiredEntry = {
  name: 'docs',
  server_id: null,
  definition: () => ({ type: 'stdio', command: 'npx', args: [], env: {}, cwd: null }),
  enabled: undefined,
}

/** The edit service of a user whose only agent is Cursor, and a counter of computed changes. */
async function cursorHome() {
  const home = ownFolder()
  const file = write(home, '.cursor/mcp.json', '{"mcpServers": {}}\n')
  const opened = await openEdit(home)
  let computed = 0
  const target = configTarget(agentOf('cursor'), opened.platform, {})
  const plan = (_: ConfigTarget, current: CurrentConfig) => {
    computed += 1
    return planSet(target, current, [DOCS], { replace: false })
  }
  const put = (options: { dry_run?: boolean }) =>
    opened.edit.change(target, options, BY, { action: 'set', plan })
  return { ...opened, file, put, computed: () => computed }
}

const names = (file: string) => Object.keys(JSON.parse(readFileSync(file, 'utf8')).mcpServers)

test('a dry run computes the change once and writes nothing', async () => {
  const { put, file, ownership, computed } = await cursorHome()
  expect(await put({ dry_run: true })).toMatchObject({ added: ['docs'], backup_id: null })
  expect([computed(), names(file), ownership.all()]).toEqual([1, [], []])
})

test('an agent whose lock cannot be released can be changed again', async () => {
  const home = ownFolder()
  const file = write(home, '.claude.json', '{"mcpServers": {}}\n')
  const { edit, platform, lockLedger } = await openEdit(home)
  const target = configTarget(agentOf('claude-code'), platform, {})
  const notes = () => readdirSync(lockLedger).map((name) => join(lockLedger, name))
  const put = (meanwhile: () => void) =>
    edit.change(target, {}, BY, {
      action: 'set',
      plan: (_, current) => {
        meanwhile()
        return planSet(target, current, [DOCS], { replace: false })
      },
    })
  const failed = put(() => {
    for (const note of notes()) {
      rmSync(note)
      mkdirSync(note) // which is not removed like a file
    }
  })
  await expect(failed).rejects.toThrow()
  for (const note of notes()) rmSync(note, { recursive: true })
  await put(() => {})
  expect(names(file)).toEqual(['docs'])
})

test('a write computes the change once', async () => {
  const { put, file, computed } = await cursorHome()
  expect(await put({})).toMatchObject({ added: ['docs'] })
  expect([computed(), names(file)]).toEqual([1, ['docs']])
})

test('a change is computed again if another program changes the file during the write', async () => {
  const { backups, put, file, ownership, computed } = await cursorHome()
  backups.onKeep = () => {
    backups.onKeep = () => {}
    writeFileSync(file, '{"mcpServers": {"theirs": {"command": "x"}}}\n')
  }
  await put({})
  expect([computed(), names(file)]).toEqual([2, ['theirs', 'docs']])
  expect([ownership.pending(), backups.of('cursor').length]).toEqual([[], 1])
})

test('a change that another program prevents three times is refused and leaves no intent, key or backup', async () => {
  const { edit, file, keys, backups, ownership } = await cursorHome()
  let n = 0
  backups.onKeep = () => {
    n += 1
    writeFileSync(file, `{"mcpServers": {"theirs": {"command": "${n}"}}}\n`)
  }
  await expect(edit.connect('cursor', {}, BY)).rejects.toMatchObject({ code: 'config_changed' })
  expect([n, names(file)]).toEqual([3, ['theirs']])
  expect([ownership.pending(), ownership.all(), keys.list(), backups.of('cursor')]).toEqual([[], [], [], []])
})

test('an undo reads and compares the backup once', async () => {
  const { backups, put, file, undoing } = await cursorHome()
  await put({})
  expect(await undoing.undo('cursor', {}, BY)).toMatchObject({ removed: ['docs'] })
  expect([backups.restored, names(file)]).toEqual([1, []])
})

test('connecting computes the change once, with the key that is written', async () => {
  const { edit, keys, file, addresses } = await cursorHome()
  await edit.connect('cursor', {}, BY)
  expect([addresses(), names(file)]).toEqual([1, ['toolroom']])
  const [key = ''] = /tk_[\w-]+/.exec(readFileSync(file, 'utf8')) ?? []
  expect([keys.idOf(key)]).toEqual(keys.list().map(({ id }) => id))
})

const own = (hash: string, parked: string | null = null): OwnedEntry => ({ server_id: null, hash, parked })
const record = (entries: Record<string, OwnedEntry>, keys: string[]): FileRecord => ({
  agent_type: 'cursor',
  scope: 'user',
  project_path: null,
  path: '/x',
  key_path: [],
  trace: null,
  made_file: false,
  entries,
  keys,
})

test.each<[string, Record<string, OwnedEntry>, Record<string, OwnedEntry>, Record<string, string>, object]>([
  ['an entry that was added', {}, { a: own('1') }, { a: '1' }, { a: own('1') }],
  [
    'an entry that was added and then edited by another program',
    {},
    { a: own('1') },
    { a: '9' },
    { a: own('1') },
  ],
  ['an entry that was not added', {}, { a: own('1') }, {}, {}],
  ['an entry that was updated', { a: own('1') }, { a: own('2') }, { a: '2' }, { a: own('2') }],
  ['an entry that was not updated', { a: own('1') }, { a: own('2') }, { a: '1' }, { a: own('1') }],
  ['an entry that was removed', { a: own('1') }, {}, {}, {}],
  ['an entry that was not removed', { a: own('1') }, {}, { a: '1' }, { a: own('1') }],
  ['an entry that was parked', { a: own('1') }, { a: own('1', 'p') }, {}, { a: own('1', 'p') }],
  ['an entry that was not parked', { a: own('1') }, { a: own('1', 'p') }, { a: '1' }, { a: own('1') }],
])(
  'after a crash and an edit by another program, %s is managed as the file holds it',
  (_, before, intended, inFile, expected) => {
    const hashes = new Map(Object.entries(inFile))
    const merged = mergedRecord(record(before, ['old']), record(intended, ['new']), hashes, new Set(['old']))
    expect(merged).toMatchObject({ entries: expected, keys: ['old'] })
    expect(Object.keys(merged.entries)).toEqual(Object.keys(expected))
  },
)
