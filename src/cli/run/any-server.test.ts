import { expect, test } from 'vitest'
import { type AnyServer, needsHelp } from './any-server.ts'

const starting = (restart_count: number) =>
  ({ type: 'stdio', status: 'starting', restart_count, health: { level: 'healthy' } }) as AnyServer

test('a server that starts again after a crash still needs help, and one that starts for the first time does not', () => {
  expect(needsHelp(starting(0))).toBe(false)
  expect(needsHelp(starting(1))).toBe(true)
})
