import { expect, test } from 'vitest'
import { OAuthFailure } from '../../net/oauth/oauth-failure.ts'
import { RefreshAttempts } from './refresh-attempts.ts'

/** How long the next attempt waits after these failures, in seconds. Each is tried as soon as it may be. */
async function pausesAfter(...failures: readonly Error[]): Promise<number[]> {
  let now = 0
  let tries = 0
  const attempts = new RefreshAttempts(() => now)
  const tryWith = (error: Error) =>
    attempts.run(
      async () => {
        tries += 1
        throw error
      },
      async () => {},
    )
  const pauses: number[] = []
  for (const error of failures) {
    const before = tries
    const from = now
    await tryWith(error)
    while (tries === before) {
      now += 1000
      await tryWith(error)
    }
    pauses.push((now - from) / 1000)
  }
  return pauses.slice(1)
}

const busy = (retryAfterS?: number) =>
  new OAuthFailure('unavailable', 'The issuer is busy', 'Wait', retryAfterS)

test('after a failure that may pass, an issuer is asked again after 2, 4, 8 s and so on, but at least every 5 minutes', async () => {
  const pauses = await pausesAfter(...Array.from({ length: 11 }, () => busy()))
  expect(pauses).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
})

test('an issuer that says when to come back is not asked before, for 5 minutes at most', async () => {
  expect(await pausesAfter(busy(120), busy(), busy(1), busy(3600), busy())).toEqual([120, 4, 8, 300])
})

test("an issuer's final word ends the pauses, and the next attempt begins at once", async () => {
  const attempts = new RefreshAttempts(() => 0)
  let tries = 0
  const fail = (error: Error) =>
    attempts.run(
      async () => {
        tries += 1
        throw error
      },
      async () => {},
    )
  await fail(new OAuthFailure('invalid_grant', 'The login has ended', 'Log in again'))
  expect([attempts.hasFailed, attempts.problem]).toEqual([false, null])
  await fail(busy())
  expect([attempts.hasFailed, attempts.problem?.message]).toEqual([true, 'The issuer is busy'])
  await fail(busy())
  expect(tries).toBe(2)
})
