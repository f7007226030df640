import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { HistoryItem } from '../../src/agents/read/agents.schema.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { put, textOf } from '../support/agents.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { FULL, runs, some } from '../support/full-or-short.ts'
import { openService } from '../support/service-process.ts'
import { openHomeOf } from '../support/test-service.ts'

/** The script of the goals R5, R6. */

/** Kills that interrupt a change. Others fall between two changes. */
const KILLS = runs(2, 60, 250)
const INTERLEAVINGS = runs(40, 500, 5000)

/** After a kill: the built program, or, in the short form, its code in this process. */
const openAgain = (home: string) => (FULL ? openService({ home }) : openHomeOf(home))

const script = (name: string) => fileURLToPath(new URL(`../support/${name}.mjs`, import.meta.url))

/** Realistic files in every format, each with the parts that must be present at any moment. */
const FILES = {
  '.claude.json': {
    agent: 'claude-code',
    text: `{\n  "numStartups": 7,\n  "history": ${JSON.stringify(
      Array.from({ length: 300 }, (_, n) => `line ${n}`),
      null,
      2,
    )},\n  "mcpServers": {},\n  "last": true\n}`,
    always: ['"numStartups": 7', '"line 299"', '"last": true'],
  },
  '.config/opencode/opencode.jsonc': {
    agent: 'opencode',
    text: '// mine\r\n{\r\n  "theme": "dark", // keep\r\n  "mcp": {\r\n    /* first */ "a": { "type": "local", "command": ["a"] }, // of a\r\n  },\r\n}\r\n',
    always: ['// mine', '// keep', '/* first */', '// of a'],
  },
  '.codex/config.toml': {
    agent: 'codex',
    text: '# mine\nmodel = "x" # keep\n\n[mcp_servers.a] # of a\ncommand = "a"\n\n# the end\n[tui]\ntheme = "dark"\n',
    always: ['# mine', '# keep', '# of a', '# the end', 'theme = "dark"'],
  },
  '.config/goose/config.yaml': {
    agent: 'goose',
    text: '# mine\nGOOSE_MODEL: x # keep\nextensions:\n  a: # of a\n    type: stdio\n    cmd: a\n    args: []\n    enabled: true\n# the end\nlast: true\n',
    always: ['# mine', '# keep', '# of a', '# the end', 'last: true'],
  },
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18' },
})

/** Every step between the intent and the last transaction, in changes of one and of two files. */
const CONNECT = ['POST', '/agents/cursor/connect', {}] as const
const DISCONNECT = ['POST', '/agents/cursor/disconnect', {}] as const
const DISABLED = { servers: { second: { command: 'second', enabled: false } } }
const ADD = ['PUT', '/agents/github-copilot-cli/servers', DISABLED] as const
const REMOVE = ['DELETE', '/agents/github-copilot-cli/servers', {}] as const
const at = (call: string, path: string, when: 'before' | 'after') => JSON.stringify({ call, path, when })
const KILL_POINTS: [string, readonly [string, string, object], string][] = [
  ['of a connect before its backup', CONNECT, at('openSync', 'backups/agents/.*before', 'before')],
  ['of a connect after its backup', CONNECT, at('renameSync', 'backups/agents/.*json$', 'after')],
  ['of a connect before the file is replaced', CONNECT, at('renameSync', 'cursor/mcp.json$', 'before')],
  ['of a connect after the file is replaced', CONNECT, at('renameSync', 'cursor/mcp.json$', 'after')],
  ['of a disconnect before the file is replaced', DISCONNECT, at('renameSync', 'cursor/mcp.json$', 'before')],
  ['of a disconnect after the file is replaced', DISCONNECT, at('renameSync', 'cursor/mcp.json$', 'after')],
  ['of a change of two files after the first', ADD, at('renameSync', 'copilot/settings.json$', 'after')],
  ['of a change of two files before the second', ADD, at('renameSync', 'copilot/mcp-config.json$', 'before')],
  ['of a change of two files after the second', ADD, at('renameSync', 'copilot/mcp-config.json$', 'after')],
  ['of a removal after the second file is removed', REMOVE, at('rmSync', 'copilot/settings.json$', 'after')],
  ['of a removal after the file is replaced', REMOVE, at('renameSync', 'copilot/mcp-config.json$', 'after')],
]

const TAKE_OVER = ['POST', '/agents/cursor/connect', { take_over: true }] as const
const TAKE_OVERS: [string, readonly [string, string, object], string][] = [
  ['of a take-over before the file is replaced', TAKE_OVER, at('renameSync', 'cursor/mcp.json$', 'before')],
  ['of a take-over after the file is replaced', TAKE_OVER, at('renameSync', 'cursor/mcp.json$', 'after')],
  [
    'of a disconnect that returns entries, after the file is replaced',
    DISCONNECT,
    at('renameSync', 'cursor/mcp.json$', 'after'),
  ],
]

describe.runIf(process.platform !== 'win32')("agents' files", () => {
  test(`R5: ${KILLS} kills in the middle of changes never leave an agent's file torn or without a comment or key`, {
    timeout: FULL ? 3_600_000 : 900_000,
  }, async () => {
    const home = ownFolder()
    for (const [path, { text }] of Object.entries(FILES)) put(home, path, text)
    // One of them is a symbolic link, as dotfile managers create them, and readable by the group.
    put(home, 'dotfiles/config.toml', FILES['.codex/config.toml'].text)
    const linked = join(home, '.codex/config.toml')
    rmSync(linked)
    symlinkSync(join(home, 'dotfiles/config.toml'), linked)
    chmodSync(join(home, 'dotfiles/config.toml'), 0o640)
    const readers = Array.from({ length: runs(1, 2) }, () => startReader(home))
    const agentTypes = Object.values(FILES).map(({ agent }) => agent)
    let interrupted = 0
    for (let cycle = 0; interrupted < KILLS; cycle += 1) {
      expect(cycle, `kills, ${interrupted} of which interrupted a change`).toBeLessThan(3 * KILLS)
      const service = await openService({ home })
      const change = async (agent: string, n: number) => {
        const entry = {
          command: 'npx',
          args: ['-y', `server-${cycle}-${n}`],
          env: { TOKEN: 'x'.repeat(n % 50) },
        }
        const { status } = await service.ask('PUT', `/agents/${agent}/servers`, {
          servers: { [`s${n % 3}`]: entry },
        })
        expect(status).toBe(200)
        if (n % 2 === 1) await service.ask('DELETE', `/agents/${agent}/servers`, { names: [`s${n % 3}`] })
      }
      const began = performance.now()
      await Promise.all(agentTypes.map((agent) => change(agent, 0)))
      // At any point of the next two rounds, however long a round takes on this machine, and in a change.
      const roundMs = performance.now() - began
      const killed = sleep((((cycle * 37) % 150) / 75) * roundMs).then(async () => {
        for (;;) {
          service.child.kill('SIGSTOP')
          if (unfinishedChanges(service.data) > 0) return service.child.kill('SIGKILL')
          service.child.kill('SIGCONT')
          await sleep(1 + (cycle % 7))
        }
      })
      const untilKilled = async (agent: string) => {
        for (let n = 1; ; n += 1) await change(agent, n)
      }
      const cut = await Promise.allSettled(agentTypes.map(untilKilled))
      await killed
      await service.ended
      for (const each of cut) expect(each).toMatchObject({ reason: { message: 'fetch failed' } })
      if (unfinishedChanges(service.data) > 0) interrupted += 1
    }
    const service = await openService({ home })
    for (const { agent } of Object.values(FILES)) await service.ask('DELETE', `/agents/${agent}/servers`, {})
    const seen = await Promise.all(readers.map((reader) => reader.stop()))

    const faults = seen.flatMap((reader) => reader.faults)
    expect(faults).toEqual([])
    const reads = seen.reduce((sum, reader) => sum + reader.reads, 0)
    expect(reads).toBeGreaterThan(KILLS * 20)
    figure('R5', `torn or incomplete files in ${reads} reads during ${KILLS} kills`, faults.length, {
      exactly: 0,
    })
    for (const [path, { text }] of Object.entries(FILES)) {
      expect(without(textOf(home, path)), path).toBe(without(text))
      expect(readdirSync(dirname(join(home, path))).filter((name) => name.endsWith('.tmp'))).toEqual([])
    }
    expect(lstatSync(linked).isSymbolicLink()).toBe(true)
    expect(statSync(linked).mode & 0o777).toBe(0o640)
  })

  test.each(some(KILL_POINTS, 3, 1))(
    'a kill %s leaves no entry that is not managed, no key outside of its file and no file half changed (R5)',
    async (_, request, KILL_AT) => {
      const home = ownFolder()
      const [method, path, body] = request
      const files = { '.cursor/mcp.json': '{\n  "mcpServers": {}\n}\n', '.copilot/mcp-config.json': '{}\n' }
      for (const [file, text] of Object.entries(files)) put(home, file, text)
      const off = { command: 'off', enabled: false }
      const first = await openHomeOf(home)
      const ready = [
        await first.ask('POST', '/agents/cursor/connect', {}),
        await first.ask('PUT', '/agents/github-copilot-cli/servers', { servers: { first: off } }),
      ]
      expect(ready.map(({ status }) => status)).toEqual([200, 200])
      await first.close()
      const texts = () =>
        [...Object.keys(files), '.copilot/settings.json'].map((file) =>
          existsSync(join(home, file)) ? textOf(home, file) : null,
        )
      const before = texts()

      const env = { NODE_OPTIONS: `--require=${script('kill-at').replace(/mjs$/, 'cjs')}`, KILL_AT }
      const killed = await openService({ home, env })
      await expect(killed.ask(method, path, body)).rejects.toThrow('fetch failed')
      expect((await killed.ended).signal).toBe('SIGKILL')

      const service = await openAgain(home)
      const change = await service.ask('GET', '/agents/cursor') // an answer, so that the start is complete
      expect(change.status).toBe(200)
      const agree = async () => {
        const keys: { id: string }[] = (await service.ask('GET', '/keys')).body.items
        const inFile = textOf(home, '.cursor/mcp.json').match(/tk_[\w-]+/g) ?? []
        expect(keys).toHaveLength(inFile.length)
        for (const key of inFile) {
          const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
          const reply = await fetch(`${service.address}/mcp`, { method: 'POST', headers, body: INITIALIZE })
          expect(reply.status).toBe(200)
        }
        for (const type of ['cursor', 'github-copilot-cli']) {
          const { servers, drift } = (await service.ask('GET', `/agents/${type}`)).body
          expect(servers.filter(({ managed }: { managed: boolean }) => !managed)).toEqual([])
          expect(drift).toEqual([])
        }
        const { servers } = (await service.ask('GET', '/agents/github-copilot-cli')).body
        for (const { name, enabled } of servers) expect([name, enabled]).toEqual([name, false])
        // Completed or not made at all. A change that was not made is not in the history.
        const history: { items: HistoryItem[] } = (
          await service.ask('GET', `${path.replace(/\/[^/]+$/, '')}/history`)
        ).body
        expect(history.items.filter(({ current }) => current).length).toBeGreaterThan(0)
        const isMade = JSON.stringify(texts()) !== JSON.stringify(before)
        if (!isMade) expect(history.items.some(({ names }) => names.includes('second'))).toBe(false)
      }
      await expect.poll(agree).toBe(undefined)

      for (const type of ['cursor', 'github-copilot-cli'])
        expect((await service.ask('DELETE', `/agents/${type}/servers`, {})).status).toBe(200)
      expect(Object.keys(files).map((file) => textOf(home, file))).toEqual(Object.values(files))
      expect(existsSync(join(home, '.copilot/settings.json'))).toBe(false)
      expect((await service.ask('GET', '/keys')).body.items).toEqual([])
      for (const folder of ['.cursor', '.copilot'])
        expect(readdirSync(join(home, folder)).filter((name) => /tmp|lock/.test(name))).toEqual([])
    },
  )

  test.each(some(TAKE_OVERS, 2, 1))(
    'a kill %s restores every byte with the next disconnect (R5)',
    async (_, request, KILL_AT) => {
      const home = ownFolder()
      const entry = { command: 'no-such-program', args: ['a'] }
      const text = `{\n  "mcpServers": {\n    "mine": ${JSON.stringify(entry)},\n    "theirs": { "command": "x" }\n  }\n}`
      put(home, '.cursor/mcp.json', text)
      const first = await openHomeOf(home)
      expect((await first.ask('POST', '/servers', { name: 'mine', ...entry })).status).toBe(201)
      if (request === DISCONNECT) expect((await first.ask(...TAKE_OVER)).body.parked).toEqual(['mine'])
      await first.close()

      const env = { NODE_OPTIONS: `--require=${script('kill-at').replace(/mjs$/, 'cjs')}`, KILL_AT }
      const killed = await openService({ home, env })
      await expect(killed.ask(...request)).rejects.toThrow('fetch failed')
      expect((await killed.ended).signal).toBe('SIGKILL')

      const service = await openAgain(home)
      const { status, body } = await service.ask(...TAKE_OVER)
      expect([status, body.dry_run]).toEqual([200, false])
      const { servers } = (await service.ask('GET', '/agents/cursor')).body
      const parked = servers.filter((each: { parked: boolean }) => each.parked)
      expect(parked).toMatchObject([{ name: 'mine', linked_server_id: 'mine' }])
      expect((await service.ask(...DISCONNECT)).status).toBe(200)
      expect(textOf(home, '.cursor/mcp.json')).toBe(text)
      expect((await service.ask('GET', '/keys')).body.items).toEqual([])
    },
  )

  test.each([
    ['claude-code', '.claude.json', at('mkdirSync', 'claude.json.lock$', 'after')],
    ['github-copilot-cli', '.copilot/mcp-config.json', at('openSync', 'mcp-writer.lock$', 'after')],
  ])(
    'a kill in the moment in which the lock of %s was taken leaves no lock behind (R5)',
    async (agent, file, KILL_AT) => {
      const home = ownFolder()
      put(home, file, '{}\n')
      const env = { NODE_OPTIONS: `--require=${script('kill-at').replace(/mjs$/, 'cjs')}`, KILL_AT }
      const killed = await openService({ home, env })
      await expect(killed.ask('POST', `/agents/${agent}/connect`, {})).rejects.toThrow('fetch failed')
      expect((await killed.ended).signal).toBe('SIGKILL')
      const service = await openAgain(home)
      expect((await service.ask('POST', `/agents/${agent}/connect`, {})).status).toBe(200)
      const folder = dirname(join(home, file))
      expect(readdirSync(folder).filter((name) => name.includes('lock'))).toEqual([])
    },
  )

  test(`R6: ${INTERLEAVINGS} concurrent edits of an agent's file by another program are kept, or kept as a backup and reported`, {
    timeout: FULL ? 3_600_000 : 900_000,
  }, async () => {
    const home = ownFolder()
    const path = put(home, '.cursor/mcp.json', '{\n  "foreign": 0,\n  "mcpServers": {}\n}\n')
    const service = await openService({ home })
    const writer = startWriter()
    const lost = { 'in place': 0, 'by rename': 0 }
    let refused = 0
    for (let counter = 1; counter <= INTERLEAVINGS; counter += 1) {
      const way = counter % 2 === 0 ? 'in place' : 'by rename'
      const servers = { ours: { command: 'npx', args: [String(counter)] } }
      const [theirs, ours] = await Promise.all([
        writer.edit({ path, counter, way, delay: ((counter * 7) % 45) / 3 }),
        service.ask('PUT', '/agents/cursor/servers', { servers }),
      ])
      expect(theirs).toBe(counter)
      if (ours.status !== 200) {
        expect(['config_changed', 'config_unparsable']).toContain(ours.body.code)
        refused += 1
      }
      const text = readFileSync(path, 'utf8')
      JSON.parse(text)
      if (text.includes(`"foreign": ${counter},`)) continue
      const history: { items: HistoryItem[] } = (await service.ask('GET', '/agents/cursor/history')).body
      const kept = history.items.some(({ action }) => action === 'foreign_edit')
      if (!kept || !ours.body.warnings?.length) lost[way] += 1
    }

    figure('R6', `of ${INTERLEAVINGS / 2} edits in place, lost`, lost['in place'], { exactly: 0 })
    // A rename in the microseconds between our last check and our own rename cannot be detected.
    figure('R6', `of ${INTERLEAVINGS / 2} edits by rename, lost`, lost['by rename'], {
      most: Math.ceil(INTERLEAVINGS / 100),
    })
    expect(refused).toBeLessThan(INTERLEAVINGS / 2)
  })
})

/** The changes that a killed service had begun. Reads a copy, so that the next start finds the files as they are. */
function unfinishedChanges(data: string): number {
  const copy = ownFolder()
  for (const name of ['toolroom.db', 'toolroom.db-wal']) copyFileSync(join(data, name), join(copy, name))
  const database = openSqlite(join(copy, 'toolroom.db'))
  const row = database.prepare('SELECT count(*) AS changes FROM agent_changes').get()
  database.close()
  return Number(row?.changes)
}

/** A removal may leave blank lines, which are neither a comment nor a key. */
const without = (text: string): string => text.replace(/\s+/g, ' ')

function startReader(home: string) {
  const files = Object.entries(FILES).map(([path, { always }]) => {
    return { path: join(home, path), always, json: path.endsWith('.json') }
  })
  const child = spawn(process.execPath, [script('config-reader'), JSON.stringify(files)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (more: string) => (text += more))
  return {
    stop: async (): Promise<{ reads: number; faults: string[] }> => {
      child.stdin.end()
      await once(child, 'close')
      return JSON.parse(text)
    },
  }
}

function startWriter() {
  const child = spawn(process.execPath, [script('foreign-writer')], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    edit: async (edit: object): Promise<number> => {
      child.stdin.write(`${JSON.stringify(edit)}\n`)
      return Number((await lines.next()).value)
    },
  }
}
