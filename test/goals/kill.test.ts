import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { runs } from '../support/full-or-short.ts'
import { launchReady } from '../support/program.ts'
import { AUTHORISED } from '../support/test-service.ts'

const CYCLES = runs(3, 60, 1000)
const WRITERS = 4
const headers = { ...AUTHORISED, 'content-type': 'application/json' }

/** The expected description, or null for a deleted server. */
type Content = string | null
interface Books {
  /** Acknowledged changes. */
  readonly known: Map<string, Content>
  /** Changes without a response: either outcome is correct. */
  readonly open: Map<string, Content>
  acknowledged: number
}

test(`R1: ${CYCLES} times kill -9 during writes lose no acknowledged change`, async () => {
  const home = ownFolder()
  const books: Books = { known: new Map(), open: new Map(), acknowledged: 0 }
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    const { address, child, ended } = await launchReady({ home })
    await compare(address, books, cycle)
    const stop = new AbortController()
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      write(address, `w${n}-c${cycle}`, books, stop.signal),
    )
    const before = books.acknowledged
    await expect.poll(() => books.acknowledged).toBeGreaterThan(before)
    await sleep(20 + ((cycle * 137) % 380))
    child.kill('SIGKILL')
    stop.abort()
    await Promise.all([...writers, ended])
  }
  const { address, child, ended, data } = await launchReady({ home })
  await compare(address, books, CYCLES)
  child.kill('SIGTERM')
  await ended
  const database = openSqlite(`${data}/toolroom.db`)
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  const audited = Number(database.prepare('SELECT count(*) AS n FROM audit').get()?.n)
  database.close()
  expect(audited).toBeGreaterThanOrEqual(books.acknowledged)
  figure('R1', `acknowledged changes of ${CYCLES} kills, none lost`, books.acknowledged, { least: CYCLES })
}, 3_600_000)

/** Adds, changes and deletes its own servers as fast as responses arrive. */
async function write(address: string, name: string, books: Books, signal: AbortSignal): Promise<void> {
  const ask = async (
    method: string,
    path: string,
    id: string,
    content: Content,
    body?: object,
  ): Promise<boolean> => {
    books.open.set(id, content)
    try {
      const sent = body ? { body: JSON.stringify(body), headers } : { headers: AUTHORISED }
      const reply = await fetch(address + path, { method, ...sent })
      if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`)
      books.known.set(id, content)
      books.open.delete(id)
      books.acknowledged += 1
      return true
    } catch (error) {
      if (signal.aborted || error instanceof TypeError) return false // the connection was lost with the process
      throw error
    }
  }
  for (let n = 0; !signal.aborted && n < 20; n += 1) {
    const id = `${name}-${n}`
    const added = await ask('POST', '/api/servers', id, 'new', {
      name: id,
      command: 'x',
      description: 'new',
      env: { K: id },
    })
    const changed =
      added && (await ask('PATCH', `/api/servers/${id}`, id, 'changed', { description: 'changed' }))
    const goesOn = changed && (n % 5 === 0 || (await ask('DELETE', `/api/servers/${id}`, id, null)))
    if (!goesOn) return
  }
}

async function compare(address: string, books: Books, cycle: number): Promise<void> {
  const { items } = (await (await fetch(`${address}/api/servers`)).json()) as {
    items: { id: string; description: string }[]
  }
  const found = new Map(items.map(({ id, description }) => [id, description]))
  for (const id of new Set([...books.known.keys(), ...books.open.keys(), ...found.keys()])) {
    const content = found.get(id) ?? null
    const allowed = [books.known.get(id) ?? null, ...(books.open.has(id) ? [books.open.get(id)] : [])]
    expect(allowed, `server ${id} in cycle ${cycle}`).toContain(content)
    if (content === null) books.known.delete(id)
    else books.known.set(id, content)
  }
  books.open.clear()
  // Make room for the next cycle: the maximum is 500 servers.
  for (const id of [...books.known.keys()].slice(0, -300)) {
    await fetch(`${address}/api/servers/${id}`, { method: 'DELETE', headers: AUTHORISED })
    books.known.delete(id)
  }
}
