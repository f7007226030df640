import { expect, test } from 'vitest'
import { type Interception, send } from '../fixtures/oauth/interceptions.ts'
import { ownFolder } from '../support/folder.ts'
import { some } from '../support/full-or-short.ts'
import { leftMs, openRemote, userOf } from '../support/logins.ts'
import { launchReady } from '../support/program.ts'

/** When the service is killed: while the answer is withheld, and in the first moments after it was sent. */
const MOMENTS_MS = some([undefined, 0, 1, 5], 2)

test('kill -9 between the token answer and the commit never loses a login without saying so', async () => {
  const { authorization, server } = await openRemote({ authorization: { accessTokenS: 1 } })
  const home = ownFolder()
  let running = await launchReady({ home })
  let user = userOf(running)
  const id = await user.add(server.url)
  const seen: string[] = []
  for (const moment of MOMENTS_MS) {
    await user.ask('DELETE', `/http-servers/${id}/login`)
    await user.logIn(id)
    expect(await user.auth(id)).toMatchObject({ state: 'logged_in' })
    await expect.poll(async () => leftMs(await user.auth(id))).toBeLessThan(0)
    // The authorization server has rotated the refresh token: it believes in the new one.
    const isKilled = new Promise<void>((resolve) => {
      const interception: Interception = async (response, answer) => {
        const real = await answer()
        if (moment !== undefined) send(response, real)
        if (moment) await new Promise((then) => setTimeout(then, moment))
        running.child.kill('SIGKILL')
        resolve()
      }
      authorization.intercept('/token', interception, 1)
    })
    await user.call(id).catch(() => undefined) // the connection is lost with the process
    await isKilled
    await running.ended
    running = await launchReady({ home })
    user = userOf(running)
    const { status, body } = await user.call(id)
    const { state, error } = await user.auth(id)
    seen.push(`${status} ${state}`)
    if (status === 200) expect(state).toBe('logged_in')
    else {
      // It was lost: the state, the reason and the call say it.
      expect(body).toMatchObject({ code: 'login_needed', start_url: expect.any(String) })
      expect(state).toBe('expired')
      expect(error?.message).toMatch(/\S+ \S+/)
    }
    expect((await user.auth(id)).client).toBe('registered')
  }
  expect(seen[0]).toBe('409 expired') // the first one cannot have been stored
})
