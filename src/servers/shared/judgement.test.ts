import { expect, test } from 'vitest'
import { judge, type Known } from './judgement.ts'
import type { Try } from './tries.ts'

const STATUSES: readonly Known['status'][] = [
  'stopped',
  'starting',
  'running',
  'idle',
  'stopping',
  'backoff',
  'failed',
  'unknown',
  'connected',
  'degraded',
  'auth_required',
  'unreachable',
  'error',
  'disabled',
]
/** Only then is it looked for what prevents a start. */
const AT_REST = ['idle', 'stopped', 'failed', 'unknown']
const error = { code: 'exited', message: 'The process exited with code 1', hint: 'Read its log' }
const missing = { code: 'command_not_found', message: "'x' was not found", hint: 'Install it' }
const TRIES: readonly (Try | null)[] = [
  null,
  { at: 1, error: null },
  { at: 1, error, crashed: true },
  { at: 1, error: missing, obstructed: true },
]
const all: readonly Known[] = STATUSES.flatMap((status) =>
  TRIES.flatMap((lastTry) =>
    (AT_REST.includes(status) ? [null, missing] : [null]).flatMap((obstacle) =>
      [true, false].map(
        (isWanted): Known => ({ status, error, lastTry, obstacle, isWanted, flaw: undefined, toolCount: 3 }),
      ),
    ),
  ),
)

test('in every state, a server works only if its last try worked and nothing is known that prevents a start', () => {
  for (const known of all) {
    const { health } = judge(known)
    const hasWorked = known.lastTry?.error === null && known.obstacle === null
    if (health.works || health.level === 'healthy') expect([known, hasWorked]).toEqual([known, true])
    if (health.level === 'unhealthy') expect(health.works).toBe(false)
    expect(health.summary).not.toBe('')
  }
})

test('a server at rest that was not tried is not tried in words and level, and one that failed has its error', () => {
  for (const known of all) {
    if (!['idle', 'unknown'].includes(known.status) || known.obstacle) continue
    const { health, error: shown } = judge(known)
    const { lastTry } = known
    if (lastTry?.error && !lastTry.obstructed) {
      expect(health).toMatchObject({ level: 'unhealthy', state: 'crashed', summary: error.message })
      expect(shown).toEqual(error)
    } else if (lastTry?.error === null)
      expect(health.state).toBe(known.status === 'idle' ? 'idle' : 'not_checked')
    else expect(health).toMatchObject({ level: 'unknown', state: 'not_tried', works: null })
  }
})

test('what prevents a start is shown at once, unless a person has stopped the server', () => {
  const known = { error: null, lastTry: null, obstacle: missing, flaw: undefined, toolCount: null }
  for (const status of ['idle', 'failed', 'unknown'] as const)
    expect(judge({ status, isWanted: true, ...known })).toMatchObject({
      health: { level: 'unhealthy', state: 'failed', summary: missing.message, action: missing.hint },
      error: missing,
    })
  expect(judge({ status: 'stopped', isWanted: false, ...known })).toMatchObject({
    health: { level: 'unknown', state: 'stopped', action: missing.hint },
    error: null,
  })
})
