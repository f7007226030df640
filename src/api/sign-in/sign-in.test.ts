import { expect, test } from 'vitest'
import { verdictOn } from '../../../test/support/answers.ts'
import { AUTHORISED, openTestService, TOKEN } from '../../../test/support/test-service.ts'
import { LoginCodes } from './sign-in-codes.ts'

test('a login code opens once: it needs the token to be created, and no token to be exchanged (API section 12)', async () => {
  const service = await openTestService()
  const create = { method: 'POST', url: '/api/login-codes' } as const
  expect(await verdictOn(service, create)).toEqual([401, 'missing_token'])
  const created = await service.inject({ ...create, headers: AUTHORISED })
  const { code, expires_at } = created.json()
  expect(created.statusCode).toBe(201)
  expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(30_000)
  expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(60_000)

  const login = (given: string) =>
    service.inject({ method: 'POST', url: '/api/login', payload: { code: given } })
  expect((await login(`${code}x`)).json()).toMatchObject({ status: 401, code: 'code_spent' })
  const reply = await login(code)
  expect([reply.statusCode, reply.json()]).toEqual([200, { token: TOKEN }])
  expect(reply.headers['cache-control']).toBe('no-store')
  expect((await login(code)).json()).toMatchObject({ status: 401, code: 'code_spent' })
  const log = (await service.inject('/api/logs?source=audit')).body
  expect(log).toContain('login')
  expect(log).not.toContain(code)
})

test('wrong login codes count as wrong tokens: the eleventh within a minute is audited', async () => {
  const service = await openTestService()
  for (let round = 0; round < 11; round += 1) {
    const sent = { method: 'POST', url: '/api/login', payload: { code: `guess-${round}` } } as const
    expect(await verdictOn(service, sent)).toEqual([401, 'code_spent'])
  }
  await expect
    .poll(async () => (await service.inject('/api/logs?source=audit')).body)
    .toContain('token_guessing')
})

test('a login code lives as long as it was issued for, and says that it has expired; only 20 are valid at a time, and clearing ends all', () => {
  let now = 0
  const codes = new LoginCodes(() => now)
  const late = codes.issue(60_000)
  now = 59_999
  expect(codes.redeem(late)).toBe('valid')
  expect(codes.redeem(late)).toBe('unknown')
  const [tooLate, printed] = [codes.issue(60_000), codes.issue(600_000)]
  now += 60_000
  expect([codes.redeem(tooLate), codes.redeem(printed)]).toEqual(['expired', 'valid'])
  expect(codes.redeem(tooLate)).toBe('expired')
  const issued = Array.from({ length: 21 }, () => codes.issue(60_000))
  expect(issued.map((code) => codes.redeem(code))).toEqual(['unknown', ...Array(20).fill('valid')])
  const code = codes.issue(60_000)
  codes.clear()
  expect(codes.redeem(code)).toBe('unknown')
})

test('a code of a printed link lives for 10 minutes and no longer, and an expired one has an error code of its own', async () => {
  const service = await openTestService()
  const create = (payload: object) =>
    service.inject({ method: 'POST', url: '/api/login-codes', headers: AUTHORISED, payload })
  const { expires_at } = (await create({ lifetime_s: 600 })).json()
  expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(540_000)
  expect((await create({ lifetime_s: 601 })).json()).toMatchObject({ code: 'invalid_input' })
  const short = (await create({ lifetime_s: 1 })).json()
  await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(short.expires_at) + 10)
  const login = { method: 'POST', url: '/api/login', payload: { code: short.code } } as const
  expect(await verdictOn(service, login)).toEqual([401, 'code_expired'])
})
