import { expect, test } from 'vitest'
import type { AuditEntry } from '../src/kernel/fact-bus.ts'
import type { ServerRecord } from '../src/servers/shared/server-fields.ts'
import type { ServerStore } from '../src/servers/shared/server-registry.ts'

export interface TestServer extends ServerRecord {
  readonly command?: string
  readonly url?: string
  readonly env?: Readonly<Record<string, string>>
}

/** A store that can be closed and reopened with the same data. */
export interface StoreHouse {
  stdio: ServerStore<TestServer>
  http: ServerStore<TestServer>
  audit(): Promise<{ action: string; subject: string; detail: unknown }[]>
  reopen(): Promise<StoreHouse>
}

const server = (id: string, more: Partial<TestServer> = {}): TestServer => {
  return {
    id,
    name: id,
    created_at: 1,
    updated_at: 1,
    revision: 1,
    tools: {},
    expose: true,
    outgoing_allowed: [],
    command: 'npx',
    env: { A: 'one' },
    ...more,
  }
}
const audit = (action: string, subject: string): AuditEntry => ({
  action,
  subject,
  request_id: 'req_1',
  detail: { n: 1 },
})

/** The tests that every server store must pass. Run them once per database. */
export function storeContract(open: (maximum: number) => Promise<StoreHouse>): void {
  test('an inserted server is found by id and by name, also after a restart', async () => {
    const store = await open(10)
    await store.stdio.insert(server('github', { name: 'Git Hub' }), audit('server_added', 'github'))
    const { stdio } = await store.reopen()
    expect(await stdio.all()).toEqual([server('github', { name: 'Git Hub' })])
    expect(await stdio.find('github')).toEqual(await stdio.find('Git Hub'))
    expect(await stdio.find('git hub')).toBeUndefined()
  })

  test('a lookup prefers an id over an equal name', async () => {
    const { stdio } = await open(10)
    await stdio.insert(server('a', { name: 'b' }), audit('server_added', 'a'))
    await stdio.insert(server('b', { name: 'c' }), audit('server_added', 'b'))
    expect((await stdio.find('b'))?.id).toBe('b')
  })

  test('an id or name is unique across both kinds of server, and a refused insert writes no audit row', async () => {
    const store = await open(10)
    expect(await store.stdio.insert(server('a'), audit('server_added', 'a'))).toBe('inserted')
    expect(await store.http.insert(server('a'), audit('server_added', 'a'))).toBe('taken')
    expect(await store.http.insert(server('x', { name: 'a' }), audit('server_added', 'x'))).toBe('taken')
    expect(await store.http.find('a')).toBeUndefined()
    expect(await store.audit()).toEqual([{ action: 'server_added', subject: 'a', detail: { n: 1 } }])
  })

  test('of twenty simultaneous inserts of one id exactly one succeeds', async () => {
    const { stdio } = await open(10)
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => stdio.insert(server('a'), audit('server_added', 'a'))),
    )
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1)
  })

  test('the maximum number of servers counts both kinds', async () => {
    const { stdio, http } = await open(2)
    await stdio.insert(server('a'), audit('server_added', 'a'))
    await http.insert(server('b'), audit('server_added', 'b'))
    expect(await stdio.insert(server('c'), audit('server_added', 'c'))).toBe('full')
  })

  test('concurrent changes of one server are serialised, and none is lost', async () => {
    const store = await open(10)
    await store.stdio.insert(server('a'), audit('server_added', 'a'))
    const grow = (current: TestServer) => {
      return { next: { ...current, revision: current.revision + 1 }, audit: audit('server_updated', 'a') }
    }
    await Promise.all(Array.from({ length: 30 }, () => store.stdio.change('a', grow)))
    const again = await store.reopen()
    expect((await again.stdio.find('a'))?.revision).toBe(31)
    expect(await again.audit()).toHaveLength(31)
  })

  test('a change that is refused or changes nothing leaves the record untouched', async () => {
    const store = await open(10)
    await store.stdio.insert(server('a'), audit('server_added', 'a'))
    const refused = store.stdio.change('a', () => {
      throw new Error('no')
    })
    await expect(refused).rejects.toThrow('no')
    await store.stdio.change('a', () => undefined)
    expect(await store.stdio.change('gone', () => undefined)).toBeUndefined()
    expect(await store.http.change('a', () => undefined)).toBeUndefined()
    expect(await store.stdio.find('a')).toEqual(server('a'))
    expect(await store.audit()).toHaveLength(1)
  })

  test('a rename to a used name is refused, and a rename to a free one keeps the id', async () => {
    const { stdio, http } = await open(10)
    await stdio.insert(server('a'), audit('server_added', 'a'))
    await http.insert(server('b'), audit('server_added', 'b'))
    const rename = (name: string) => (current: TestServer) => ({
      next: { ...current, name },
      audit: audit('server_updated', 'a'),
    })
    expect(await stdio.change('a', rename('b'))).toBe('taken')
    expect(await stdio.change('a', rename('c'))).toMatchObject({ id: 'a', name: 'c' })
    expect((await stdio.find('c'))?.id).toBe('a')
  })

  test('a removed server is gone, and can be added again', async () => {
    const store = await open(10)
    await store.stdio.insert(server('a'), audit('server_added', 'a'))
    expect(await store.http.remove('a', audit('server_removed', 'a'))).toBe(false)
    expect(await store.stdio.remove('a', audit('server_removed', 'a'))).toBe(true)
    expect(await store.stdio.remove('a', audit('server_removed', 'a'))).toBe(false)
    expect(await (await store.reopen()).stdio.all()).toEqual([])
    expect(await store.audit()).toHaveLength(2)
  })
}
