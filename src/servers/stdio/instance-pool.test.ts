import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ServerState } from '../../kernel/server-state.ts'
import type { InstanceOwner } from '../../mcp/protocol/call-options.ts'
import { type Engine, type Instance, InstancePool } from './instance-pool.ts'
import type { Server } from './servers.schema.ts'

/** A pool whose processes run until they are ended. */
function openPool(max_instances: number) {
  const statuses = new Map<string, ServerState['status']>()
  const awake = new Map<string, number>()
  const engine = {
    register: (id: string) => void statuses.set(id, 'running'),
    remove: async (id: string) => void statuses.delete(id),
    statusOf: (id: string) => statuses.get(id) ?? 'stopped',
    keepAwake: (id: string) => {
      awake.set(id, (awake.get(id) ?? 0) + 1)
      return () => void awake.set(id, (awake.get(id) ?? 0) - 1)
    },
  }
  const pool = new InstancePool({ engine: engine as unknown as Engine, onChange: () => {} })
  const server = { id: 'asker', name: 'Asker', max_instances, idle_timeout_s: 1 } as Server
  const planOf = () => ({ restart: {} }) as never
  const waited: string[] = []
  const hold = <R>(name: string, use: (instance: Instance) => Promise<R>, timeoutMs = 60_000) => {
    const owner = { id: name, agentType: 'cursor', sessionId: name } as InstanceOwner
    const onWaiting = () => void waited.push(name)
    const turn = { timeoutMs, signal: undefined, onWaiting, admit: () => {} }
    return pool.holding(server, owner, { planOf, turn }, use)
  }
  return { pool, hold, statuses, awake, waited }
}

/** Work that lasts until it is released. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

test('requests wait for their turn in the order of their arrival, and are told so', async () => {
  const { hold, waited } = openPool(1)
  const [first, order] = [gate(), [] as string[]]
  const running = hold('a', () => first.opened)
  const next = ['b', 'c', 'd'].map((name) => hold(name, async () => void order.push(name)))
  expect(waited).toEqual(['b', 'c', 'd'])
  first.open()
  await Promise.all([running, ...next])
  expect(order).toEqual(['b', 'c', 'd'])
})

test('a request is refused when no instance becomes free in time, and at once when too many wait', async () => {
  const { hold } = openPool(1)
  const first = gate()
  const running = hold('a', () => first.opened)
  await expect(hold('b', async () => {}, 20)).rejects.toMatchObject({
    code: 'limit_reached',
    message: "All 1 instances of 'Asker' are busy",
  })
  const waiting = Array.from({ length: 100 }, (_, n) => hold(`w${n}`, async () => n))
  await expect(hold('late', async () => {})).rejects.toMatchObject({ code: 'limit_reached' })
  first.open()
  expect(await Promise.all([running, ...waiting])).toHaveLength(101)
})

test('an instance that is starting for a request is not ended to make room for another one', async () => {
  const { pool, hold } = openPool(2)
  const starts = [gate(), gate()]
  const running = starts.map((start, n) => hold(`s${n}`, () => start.opened))
  const third = hold('third', async (instance) => pool.get(instance.id) === instance)
  await sleep(10)
  expect([...pool.of('asker').keys()]).toEqual(['s0', 's1'])
  for (const start of starts) start.open()
  await Promise.all(running)
  expect(await third).toBe(true)
})

test('an instance that went to sleep does not end under a request that has begun', async () => {
  const { pool, hold, statuses, awake } = openPool(2)
  const id = await hold('a', async (instance) => instance.id)
  const instance = pool.get(id) ?? expect.unreachable()
  statuses.set(id, 'idle')
  pool.onState(instance, 'idle') // it is to end in the next turn of the event loop
  const held = hold('a', async (again) => {
    expect(again).toBe(instance)
    expect(awake.get(id)).toBe(1)
    statuses.set(id, 'running') // the request starts it
    await sleep(10)
    return pool.get(id) === instance
  })
  expect(await held).toBe(true)
  statuses.set(id, 'idle')
  pool.onState(instance, 'idle')
  await expect.poll(() => pool.get(id)).toBeUndefined()
})
