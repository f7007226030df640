import { expect, test } from 'vitest'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService } from '../../../test/support/test-service.ts'

test('redact masks stored secrets and what looks like one, like every log line, and needs the token', async () => {
  const service = await openTestService()
  await register(service, 'echo', [], { env: { PLAIN: 'correct horse battery' } })
  const text =
    'it said correct horse battery, then Authorization: Bearer sk-live-51H8aaaaaaaaaaaaaaaa\u001b[31m'
  const reply = await post(service, '/api/redact', { text })
  expect(reply.json()).toEqual({ text: 'it said ***, then Authorization: Bearer ***' })
  expect((await post(service, '/api/redact', {})).statusCode).toBe(422)
  const anonymous = await service.inject({ method: 'POST', url: '/api/redact', payload: { text } })
  expect(anonymous.statusCode).toBe(401)
})
