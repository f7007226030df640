import { expect, onTestFinished, test, vi } from 'vitest'
import type { Server } from './servers.schema.ts'
import { StartObstacles } from './start-obstacles.ts'

test('the disk is looked at for 50 commands a second, whatever the number of servers and lists, and every server has its turn', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const looked: string[] = []
  const obstacles = new StartObstacles({
    references: { resolve: (_, definition) => ({ ok: true, definition, versions: new Map() }) },
    programOf: () => undefined as never,
    findProgramNow: ({ command }) => {
      looked.push(command)
      const missing = {
        code: 'command_not_found',
        message: command,
        hint: '',
        action: { kind: 'edit_command' },
      }
      return { ok: false, ...missing } as const
    },
    containerProblem: () => null,
  })
  const servers = Array.from(
    { length: 180 },
    (_, n) =>
      ({
        id: `s${n}`,
        command: `c${n}`,
        args: [],
        env: {},
        cwd: null,
        package: null,
        isolation: 'none',
      }) as never,
  ) as Server[]
  const found = () => servers.filter((server) => obstacles.of(server)?.message === server.command).length

  for (const [second, known] of [50, 100, 150, 180].entries()) {
    for (let list = 0; list < 3; list += 1) expect([second, found()]).toEqual([second, known])
    expect(looked.length).toBeLessThanOrEqual(50 * (second + 1))
    vi.advanceTimersByTime(1000)
  }
  const before = looked.length
  for (let n = 0; n < 60; n += 1)
    expect(obstacles.of(servers[0] as Server, 0)?.code).toBe('command_not_found')
  expect(looked.length - before).toBeLessThanOrEqual(1)
})
