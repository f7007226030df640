import { expect, test } from 'vitest'
import { openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'

test('redact masks stored secrets and what looks like one, like every log line, and needs the token', async () => {
  const house = await openHouse()
  await register(house, 'echo', [], { env: { PLAIN: 'correct horse battery' } })
  const text =
    'it said correct horse battery, then Authorization: Bearer sk-live-51H8aaaaaaaaaaaaaaaa\u001b[31m'
  const reply = await post(house, '/api/redact', { text })
  expect(reply.json()).toEqual({ text: 'it said ***, then Authorization: Bearer ***' })
  expect((await post(house, '/api/redact', {})).statusCode).toBe(422)
  const anonymous = await house.inject({ method: 'POST', url: '/api/redact', payload: { text } })
  expect(anonymous.statusCode).toBe(401)
})
