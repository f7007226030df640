import { expect, test } from 'vitest'
import { AUTHORISED, type House, openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'

interface Event {
  readonly name: string
  readonly data: Record<string, unknown>
}

/** Calls a tool over a real connection. `next` resolves with the next event, and with undefined at the end. */
async function call(house: House, path: string, args: object, signal?: AbortSignal) {
  const reply = await fetch(`${house.address}/api/servers/${path}/call`, {
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

async function running(house: House, kind: string, args: readonly string[] = []): Promise<void> {
  await register(house, kind, args)
  expect((await post(house, `/api/servers/${kind}/start`)).statusCode).toBe(200)
}

const answer = (house: House, id: unknown, payload: object) =>
  house.inject({ method: 'POST', url: `/api/elicitations/${id}/answer`, headers: AUTHORISED, payload })

test('a streamed call sends questions, log messages and progress as they come, and the result at the end', async () => {
  const house = await openHouse()
  await running(house, 'asker')
  const asking = await call(house, 'asker/tools/elicit', { who: 'me' })
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
    expect((await answer(house, id, wrong)).statusCode).toBe(422)
  expect((await answer(house, id, { action: 'accept', content: { name: 'Ada' } })).statusCode).toBe(204)
  expect((await answer(house, id, { action: 'decline' })).json()).toMatchObject({ code: 'not_found' })
  const result = { content: [{ type: 'text', text: '{"action":"accept","content":{"name":"Ada"}}' }] }
  expect(await asking.next()).toEqual({ name: 'result', data: result })
  expect(await asking.next()).toBeUndefined()

  const logging = await call(house, 'asker/tools/log', { who: 'me', pause: 10 })
  expect(await logging.next()).toEqual({ name: 'log', data: { level: 'info', data: { who: 'me' } } })
  expect(await logging.next()).toMatchObject({ name: 'result' })
  // What only an agent can answer is refused, as without a stream.
  const sampling = await call(house, 'asker/tools/sample', { who: 'me' })
  expect(JSON.stringify((await sampling.next())?.data)).toContain('not supported by calls over REST')
})

test.each(['legacy', 'modern'])('a streamed call works with a server of the %s era', async (era) => {
  const house = await openHouse()
  await running(house, 'relay', [`--era=${era}`])
  const counting = await call(house, 'relay/tools/count', {})
  const events: Event[] = []
  for (let event = await counting.next(); event; event = await counting.next()) events.push(event)
  expect(events.map(({ name }) => name)).toEqual(['progress', 'progress', 'result'])
  expect(events[0]?.data).toMatchObject({ progress: 1, total: 2 })
  expect(events[0]?.data).not.toHaveProperty('progressToken')

  const asking = await call(house, 'relay/tools/elicit', {})
  const question = await asking.next()
  expect(question).toMatchObject({ name: 'elicitation', data: { params: { message: 'Who?' } } })
  await answer(house, question?.data.id, { action: 'cancel' })
  expect(JSON.stringify(await asking.next())).toContain('cancel')
})

test('an error before the stream begins is a normal response, and a later one is the event error', async () => {
  const house = await openHouse()
  await running(house, 'dies-mid-call', ['--ms=400'])
  const unknown = await call(house, 'dies-mid-call/tools/none', {})
  expect(unknown.type).toContain('application/problem+json')
  expect(unknown.status).toBe(404)
  const dying = await call(house, 'dies-mid-call/tools/die', {})
  expect(dying.status).toBe(200)
  expect(await dying.next()).toMatchObject({ name: 'error', data: { status: 502, code: 'call_failed' } })
  expect(await dying.next()).toBeUndefined()
})

test('closing the connection of a streamed call cancels the call and its question', async () => {
  const house = await openHouse()
  await running(house, 'asker')
  const leaving = new AbortController()
  const { next } = await call(house, 'asker/tools/elicit', { who: 'me' }, leaving.signal)
  const id = (await next())?.data.id
  leaving.abort()
  const calls = async () => (await house.inject('/api/metrics/summary')).json().calls.cancelled
  await expect.poll(calls).toBe(1)
  expect((await answer(house, id, { action: 'decline' })).statusCode).toBe(404)
})
