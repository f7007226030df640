import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { launch, launchReady } from '../support/program.ts'
import { AUTHORISED, openHomeOf, TOKEN } from '../support/test-service.ts'

const DURING_WORK = runs(10, 50, 140)
/** Between two failing operations; the short form covers the same operations with larger steps. */
const STEP = runs(4, 0.9, 0.33)
const AT_START = runs(4, 20, 60)
const RESTART_EVERY = runs(5, 12)
const CODES = ['EIO', 'ENOSPC', 'EMFILE'] as const
const PRELOAD = fileURLToPath(new URL('../support/failing-files.cjs', import.meta.url))
const headers = { ...AUTHORISED, 'content-type': 'application/json' }

/** A home with an agent's file, and the file that says which operation fails. */
function prepared() {
  const home = ownFolder()
  const fault = join(ownFolder(), 'fault.json')
  mkdirSync(join(home, '.cursor'))
  writeFileSync(join(home, '.cursor/mcp.json'), MINE)
  return { home, fault, env: { TOOLROOM_FAULT: fault, NODE_OPTIONS: `--require=${PRELOAD}` } }
}
const MINE = '{"mcpServers": {"mine": {"command": "x"}}}'

describe.runIf(process.platform === 'linux')('R29: when the n-th file operation fails', () => {
  test(`${DURING_WORK} times during changes: the service goes on, every response is an answer, and a restart shows the same state`, {
    timeout: 1_200_000,
  }, async () => {
    const { home, fault, env } = prepared()
    let service = await launchReady({ home, env })
    await state(service.address) // the API is loaded a moment after the port is open
    const seen = { failed: 0, refused: 0, done: 0 }
    for (let round = 0; round < DURING_WORK; round += 1) {
      const code = CODES[round % CODES.length]
      writeFileSync(fault, JSON.stringify({ n: 1 + Math.floor(round * STEP), code }))
      await read(service, fault)
      const expected = await work(service.address, round, seen).catch((error: unknown) => {
        throw new Error(`${code} in round ${round}: ${service.output.stderr}`, { cause: error })
      })
      if (existsSync(fault)) rmSync(fault)
      else seen.failed += 1
      await read(service, fault) // nothing fails from here on
      expect(service.child.exitCode, `${code} in round ${round}`).toBeNull()
      expectWhole(home)
      const before = await state(service.address)
      for (const [id, description] of expected)
        expect(before.get(id), `${id} in round ${round}`).toBe(description)
      if (round % RESTART_EVERY !== RESTART_EVERY - 1) continue
      service.child.kill('SIGTERM')
      expect((await service.ended).code, `${code} in round ${round}`).toBe(0)
      service = await launchReady({ home, env })
      expect(await state(service.address)).toEqual(before)
    }
    service.child.kill('SIGTERM')
    await service.ended
    expectIntact(service.data)
    const what = `faults without a crash during ${seen.done} changes and ${seen.refused} refusals`
    figure('R29', what, seen.failed, { least: DURING_WORK / 2 })
    expect(seen.refused).toBeGreaterThan(0)
  })

  test(`${AT_START} times during a start: it runs or ends with a reason, and the next start has everything`, {
    timeout: 1_200_000,
  }, async () => {
    const { home, fault, env } = prepared()
    const first = await openHomeOf(home)
    await fetch(`${first.address}/api/servers`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ name: 'kept', command: 'x', env: { KEY: 'a secret of mine' } }),
    })
    await first.close()
    const ends: (number | null)[] = []
    for (let round = 0; round < AT_START; round += 1) {
      const code = CODES[round % CODES.length]
      writeFileSync(fault, JSON.stringify({ n: 1 + Math.floor((round * 160) / AT_START), code, now: true }))
      const started = launch({ home, env: { ...env, AUTH_TOKEN: TOKEN } })
      while (started.child.exitCode === null && !started.output.stdout.includes('ready')) await sleep(20)
      started.child.kill('SIGTERM')
      const end = await started.ended
      ends.push(end.code)
      if (end.code !== 0) expect(end.stderr, `${code} in round ${round}`).toMatch(/^toolroom: .+/m)
      expectWhole(home)
      rmSync(fault, { force: true })
      const again = FULL || round === 0 ? await launchReady({ home }) : await openHomeOf(home)
      expect((await state(again.address)).has('kept'), `${code} in round ${round}`).toBe(true)
      if ('child' in again) {
        again.child.kill('SIGTERM')
        expect((await again.ended).code).toBe(0)
      } else await again.close()
    }
    expectIntact(join(home, '.local/share/toolroom'))
    figure('R29', 'starts with a fault after which the next one had everything', ends.length, {
      exactly: AT_START,
    })
  })
})

/** Makes the service read which operation fails. */
async function read({ child }: { readonly child: ChildProcess }, fault: string): Promise<void> {
  rmSync(`${fault}.read`, { force: true })
  child.kill('SIGUSR2')
  await expect.poll(() => existsSync(`${fault}.read`)).toBe(true)
}

/** One change of each kind. Returns what must be there afterwards: acknowledged changes, and nothing of refused ones. */
async function work(address: string, round: number, seen: { refused: number; done: number }) {
  const ask = async (method: string, path: string, body?: object) => {
    const reply = await fetch(`${address}/api${path}`, {
      method,
      headers: body ? headers : AUTHORISED,
      ...(body && { body: JSON.stringify(body) }),
    })
    if (reply.ok) seen.done += 1
    else {
      seen.refused += 1
      expect(reply.headers.get('content-type'), `${method} ${path}`).toContain('application/problem+json')
    }
    await reply.text()
    return reply.ok
  }
  const id = `s${round}`
  const expected = new Map<string, string | undefined>()
  const added = await ask('POST', '/servers', {
    name: id,
    command: 'x',
    description: 'new',
    env: { K: 'secret-value' },
  })
  const changed = added && (await ask('PATCH', `/servers/${id}`, { description: 'changed' }))
  expected.set(id, added ? (changed ? 'changed' : 'new') : undefined)
  await ask('PUT', '/agents/cursor/servers', { servers: { [`ours-${round}`]: { command: 'y' } } })
  await ask('DELETE', '/logs')
  if (changed && round % 3 === 0 && (await ask('DELETE', `/servers/${id}`))) expected.set(id, undefined)
  await ask('GET', '/logs')
  return expected
}

async function state(address: string): Promise<Map<string, string>> {
  const reply = await fetch(`${address}/api/servers`)
  expect(reply.status).toBe(200)
  const { items } = (await reply.json()) as { items: { id: string; description: string }[] }
  return new Map(items.map(({ id, description }) => [id, description]))
}

/** The agent's file is never torn, and the user's own entry stays. */
function expectWhole(home: string): void {
  const { mcpServers } = JSON.parse(readFileSync(join(home, '.cursor/mcp.json'), 'utf8'))
  expect(mcpServers.mine).toEqual({ command: 'x' })
}

function expectIntact(data: string): void {
  for (const name of ['toolroom.db', 'logs.db', 'metrics.db']) {
    const database = openSqlite(join(data, name))
    expect(database.prepare('PRAGMA integrity_check').all(), name).toEqual([{ integrity_check: 'ok' }])
    database.close()
  }
}
