import { expect, test } from 'vitest'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'

interface Event {
  readonly name: string
  readonly data: Record<string, unknown>
}

/** Calls a tool over a real connection. `next` resolves with the next event, and with undefined at the end. */
async function call(service: TestService, path: string, args: object, signal?: AbortSignal) {
  const reply = await fetch(`${service.address}/api/servers/${path}/call`, {
    method: 'POST',
    headers: { ...AUTHORISED, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ arguments: args }),
    ...(signal && { signal }),
  })
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (): Promise<Event | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const [first = '', ...lines] = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        const json = lines.map((line) => line.replace(/^data: /, '')).join('\n')
        return { name: first.replace('event: ', ''), data: JSON.parse(json) }
      }
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done) return undefined
      text += value
    }
  }
  return { status: reply.status, type: reply.headers.get('content-type'), reply, next }
}

async function running(service: TestService, kind: string, args: readonly string[] = []): Promise<void> {
  await register(service, kind, args)
  expect((await post(service, `/api/servers/${kind}/start`)).statusCode).toBe(200)
}

const answer = (service: TestService, id: unknown, payload: object) =>
  service.inject({ method: 'POST', url: `/api/elicitations/${id}/answer`, headers: AUTHORISED, payload })

test('a streamed call sends questions, log messages and progress as they come, and the result at the end', async () => {
  const service = await openTestService()
  await running(service, 'asker')
  const asking = await call(service, 'asker/tools/elicit', { who: 'me' })
  expect(asking).toMatchObject({ status: 200, type: 'text/event-stream' })
  const question = await asking.next()
  expect(question).toMatchObject({ name: 'elicitation', data: { params: { message: 'me' } } })
  const { id } = question?.data ?? {}
  for (const wrong of [
    { action: 'shout' },
    {},
    { action: 'decline', content: {} },
    { action: 'accept', content: [] },
  ])
    expect((await answer(service, id, wrong)).statusCode).toBe(422)
  expect((await answer(service, id, { action: 'accept', content: { name: 'Ada' } })).statusCode).toBe(204)
  expect((await answer(service, id, { action: 'decline' })).json()).toMatchObject({ code: 'not_found' })
  const result = { content: [{ type: 'text', text: '{"action":"accept","content":{"name":"Ada"}}' }] }
  expect(await asking.next()).toEqual({ name: 'result', data: result })
  expect(await asking.next()).toBeUndefined()

  const logging = await call(service, 'asker/tools/log', { who: 'me', pause: 10 })
  expect(await logging.next()).toEqual({ name: 'log', data: { level: 'info', data: { who: 'me' } } })
  expect(await logging.next()).toMatchObject({ name: 'result' })
  // What only an agent can answer is refused, as without a stream.
  const sampling = await call(service, 'asker/tools/sample', { who: 'me' })
  expect(JSON.stringify((await sampling.next())?.data)).toContain('not supported by calls over REST')
})

test.each(['legacy', 'modern'])('a streamed call works with a server of the %s era', async (era) => {
  const service = await openTestService()
  await running(service, 'relay', [`--era=${era}`])
  const counting = await call(service, 'relay/tools/count', {})
  const events: Event[] = []
  for (let event = await counting.next(); event; event = await counting.next()) events.push(event)
  expect(events.map(({ name }) => name)).toEqual(['progress', 'progress', 'result'])
  expect(events[0]?.data).toMatchObject({ progress: 1, total: 2 })
  expect(events[0]?.data).not.toHaveProperty('progressToken')

  const asking = await call(service, 'relay/tools/elicit', {})
  const question = await asking.next()
  expect(question).toMatchObject({ name: 'elicitation', data: { params: { message: 'Who?' } } })
  await answer(service, question?.data.id, { action: 'cancel' })
  expect(JSON.stringify(await asking.next())).toContain('cancel')
})

test('an error before the stream begins is a normal response, and a later one is the event error', async () => {
  const service = await openTestService()
  await running(service, 'dies-mid-call', ['--ms=400'])
  const unknown = await call(service, 'dies-mid-call/tools/none', {})
  expect(unknown.type).toContain('application/problem+json')
  expect(unknown.status).toBe(404)
  const dying = await call(service, 'dies-mid-call/tools/die', {})
  expect(dying.status).toBe(200)
  expect(await dying.next()).toMatchObject({ name: 'error', data: { status: 502, code: 'call_failed' } })
  expect(await dying.next()).toBeUndefined()
})

test('closing the connection of a streamed call cancels the call and its question', async () => {
  const service = await openTestService()
  await running(service, 'asker')
  const leaving = new AbortController()
  const { next } = await call(service, 'asker/tools/elicit', { who: 'me' }, leaving.signal)
  const id = (await next())?.data.id
  leaving.abort()
  const calls = async () => (await service.inject('/api/metrics/summary')).json().calls.cancelled
  await expect.poll(calls).toBe(1)
  expect((await answer(service, id, { action: 'decline' })).statusCode).toBe(404)
})
