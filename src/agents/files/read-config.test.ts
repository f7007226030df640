import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agents, agentView, GOOSE, put } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { mayMount } from '../../../test/support/small-disk.ts'
import { openTestService } from '../../../test/support/test-service.ts'

const CLAUDE = '{\n  "numStartups": 7,\n  "mcpServers": {\n    "theirs": { "command": "x" }\n  }\n}\n'
const CODEX = '# mine\nmodel = "x"\n\n[mcp_servers.theirs]\ncommand = "x"\n\n[tui]\ntheme = "dark"\n'
const servers = { ours: { command: 'ours' } }

async function houseWith(path: string, text: string, type: string) {
  const home = ownFolder()
  const file = put(home, path, text)
  const service = await openTestService({ home })
  // The service reads the files of agents a moment after its start.
  const change = () => agents<{ code: string }>(service, 'PUT', `/${type}/servers`, { servers })
  return { service, file, change, text: () => readFileSync(file, 'utf8') }
}

/** As another program does it: it truncates the file and writes it a moment later. */
async function rewriteSlowly(file: string, first: string, then: string, ms = 400): Promise<void> {
  writeFileSync(file, first)
  await sleep(ms)
  writeFileSync(file, then)
}

const old = (file: string, seconds: number) => {
  const then = new Date(Date.now() - seconds * 1000)
  utimesSync(file, then, then)
}

/** Modified within the last 10 s, for the next 19 s: a time in the future counts like one in the past. */
const recent = (file: string) => old(file, -9)

describe('a file that another program is writing (R6)', () => {
  test.each([
    ['.claude.json', 'claude-code', CLAUDE, ''],
    ['.claude.json', 'claude-code', CLAUDE, '\n'],
    ['.claude.json', 'claude-code', CLAUDE, CLAUDE.slice(0, 30)],
    ['.claude.json', 'claude-code', CLAUDE.replace('x', 'ä'), Buffer.from('{"a": "ä').subarray(0, -1)],
    // JSON to which nothing can be added.
    ['.claude.json', 'claude-code', CLAUDE, '[]'],
    ['.claude.json', 'claude-code', CLAUDE, '{"mcpServers": []}'],
    ['.codex/config.toml', 'codex', CODEX, ''],
    ['.codex/config.toml', 'codex', CODEX, CODEX.slice(0, CODEX.indexOf('[tui]'))],
    [GOOSE, 'goose', 'a: 1\nb: 2\n', 'a: 1\n'],
  ])(
    '%s of %s keeps its content when it is read in the middle of being rewritten',
    async (path, type, text, torn) => {
      const { service, file, change, text: now } = await houseWith(path, text, type)
      await expect.poll(async () => (await agentView(service, type)).revision).not.toBe(null)
      await sleep(700) // until the files are watched
      const [reply] = await Promise.all([change(), rewriteSlowly(file, torn as string, text)])
      expect(reply.status, JSON.stringify(reply.body)).toBe(200)
      expect(now()).toContain('ours')
      // Every line of the file is still there, also behind the place where it was cut.
      for (const line of text.split('\n')) expect(now()).toContain(line)
    },
  )

  test('a file that was never read before is not taken for empty while another program writes it', async () => {
    const { file, change, text } = await houseWith('.claude.json', '', 'claude-code')
    const [reply] = await Promise.all([change(), rewriteSlowly(file, '', CLAUDE)])
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    expect(text()).toContain('"theirs"')
    expect(text()).toContain('"ours"')
  })

  test('a managed file is known to have content after a restart, before it was read', async () => {
    const { service, file, change, text } = await houseWith('.claude.json', CLAUDE, 'claude-code')
    expect((await change()).status).toBe(200)
    await service.close()
    writeFileSync(file, '')
    const again = await openTestService({ home: service.home })
    recent(file)
    expect(await agents(again, 'PUT', '/claude-code/servers', { servers })).toMatchObject({
      status: 409,
      body: { code: 'config_changed' },
    })
    expect(text()).toBe('')
  })

  test('a file that stays empty though it had content is refused, unless it was emptied 10 s ago', async () => {
    const { service, file, change, text } = await houseWith('.claude.json', CLAUDE, 'claude-code')
    expect((await change()).status).toBe(200)
    writeFileSync(file, '')
    const dry = { servers, dry_run: true }
    for (const request of [() => agents(service, 'PUT', '/claude-code/servers', dry), change]) {
      recent(file)
      const before = statSync(file)
      expect(await request()).toMatchObject({ status: 409, body: { code: 'config_changed' } })
      expect([text(), statSync(file).ino, statSync(file).mtimeMs]).toEqual(['', before.ino, before.mtimeMs])
    }
    old(file, 11)
    expect((await change()).status).toBe(200)
    expect(Object.keys(JSON.parse(text()))).toEqual(['mcpServers'])
  })

  test('a change for an old revision is refused as such, also while the file cannot be parsed', async () => {
    const { service, file } = await houseWith('.claude.json', CLAUDE, 'claude-code')
    const { revision } = await agentView(service, 'claude-code')
    writeFileSync(file, CLAUDE.slice(0, 30))
    const late = { servers, revision }
    expect(await agents(service, 'PUT', '/claude-code/servers', late)).toMatchObject({
      status: 409,
      body: { code: 'config_changed' },
    })
  })

  test('a file that stays invalid is refused with line and column, and is not written', async () => {
    const { file, change, text } = await houseWith('.claude.json', CLAUDE, 'claude-code')
    expect((await change()).status).toBe(200)
    const torn = text().slice(0, 30)
    writeFileSync(file, torn)
    expect(await change()).toMatchObject({
      status: 409,
      body: { code: 'config_unparsable', line: expect.any(Number), column: expect.any(Number) },
    })
    expect(text()).toBe(torn)
  })

  test('a modification time in the future does not prevent a change', async () => {
    const { file, change } = await houseWith('.claude.json', CLAUDE, 'claude-code')
    expect((await change()).status).toBe(200)
    writeFileSync(file, '')
    old(file, -3600)
    expect((await change()).status).toBe(200)
  })
})

test.runIf(mayMount)(
  'a file that is a mount point is refused with what to do, and nothing is changed',
  async () => {
    const { file, change, text } = await houseWith('.codex/config.toml', CODEX, 'codex')
    execFileSync('mount', ['--bind', file, file])
    onTestFinished(() => void execFileSync('umount', ['-l', file]))
    const { status, body } = await change()
    expect(status).toBe(409)
    expect(body).toMatchObject({
      code: 'config_read_only',
      hint: expect.stringContaining('Mount its folder'),
    })
    expect(text()).toBe(CODEX)
  },
)
