import { expect, onTestFinished, test } from 'vitest'
import { FactBus } from '../../kernel/fact-bus.ts'
import { ConnectionWatch } from './connection-watch.ts'
import { DEFAULTS, type HttpServer } from './http-servers.schema.ts'

const server: HttpServer = {
  ...DEFAULTS,
  id: 'far',
  name: 'far',
  url: 'https://far.example/mcp',
  transport: 'auto',
  headers: {},
  tags: [],
  created_at: 0,
  updated_at: 0,
  revision: 1,
  outgoing_allowed: [],
}

test('the time of the next check follows a change of the system time', () => {
  const unused = undefined as never
  const clock = { changedMs: 0 }
  const watch = new ConnectionWatch(server, {
    openClient: unused,
    catalogues: unused,
    references: unused,
    logins: unused,
    beginTry: () => () => {},
    facts: new FactBus(() => {}),
    intervalMs: 60_000,
    redact: (text) => text,
    now: () => Date.now() + clock.changedMs,
    random: () => 0.99,
  })
  onTestFinished(() => watch.close())
  const before = watch.state.nextCheckAt ?? Number.NaN
  expect(watch.state).toBe(watch.state)
  for (const jumpMs of [-2 * 3_600_000, 365 * 86_400_000]) {
    clock.changedMs = jumpMs
    expect(Math.abs((watch.state.nextCheckAt ?? Number.NaN) - jumpMs - before)).toBeLessThan(1000)
  }
})
