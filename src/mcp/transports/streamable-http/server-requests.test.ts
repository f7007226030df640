import { describe, expect, onTestFinished, test } from 'vitest'
import { openAsking } from '../../../../test/fixtures/http/asking.ts'
import { failureOf } from '../../../../test/support/connected-peer.ts'
import { connectedTo, textOf } from '../../../../test/support/remote.ts'
import type { OnServerRequest } from '../../protocol/call-options.ts'

const patient = { timeoutMs: 60_000 }
const contentOf = (result: { value: unknown }) => JSON.parse(textOf(result) ?? '')

/** A server whose tools send requests to the client. */
async function openServer(options: Parameters<typeof openAsking>[0] = {}) {
  const server = await openAsking(options)
  onTestFinished(() => void server.close())
  return server
}

/** A caller that answers requests of the server, and the requests it received. */
function caller(name: string) {
  const received: unknown[] = []
  const onServerRequest: OnServerRequest = async (method, params) => {
    received.push([method, JSON.stringify(params).includes('private') ? 'private' : 'public'])
    if (method === 'elicitation/create') return { action: 'accept', content: { name } }
    return { role: 'assistant', model: 'm', content: { type: 'text', text: name } }
  }
  return { received, onServerRequest }
}

describe.each(['streamable', 'sse'] as const)('over %s', (over) => {
  test.each([
    ['sampling', false],
    ['elicitation', false],
    ['sampling', true],
    ['elicitation', true],
  ] as const)(
    'a request of the server (%s, outside of the response stream: %s) is answered by the caller',
    async (kind, apart) => {
      const { url } = await openServer({ over })
      const { connection } = await connectedTo(url)
      const { received, onServerRequest } = caller('first')
      const result = await connection.call(
        'ask',
        { kind, apart, text: 'public' },
        { ...patient, onServerRequest },
      )
      expect(JSON.stringify(contentOf(result))).toContain('first')
      expect(received).toEqual([
        [kind === 'sampling' ? 'sampling/createMessage' : 'elicitation/create', 'public'],
      ])
    },
  )

  test('a request of the server during resources/read is answered by the caller', async () => {
    const { url } = await openServer({ over, capabilities: { tools: {}, resources: {} } })
    const { connection } = await connectedTo(url)
    const { onServerRequest } = caller('first')
    const { value } = await connection.relay(
      'resources/read',
      { uri: 'note://a' },
      { ...patient, onServerRequest },
    )
    expect(value).toEqual({ contents: [{ uri: 'note://a', text: 'accept' }] })
  })

  test('the server gets an error when the caller rejects its request or does not support it', async () => {
    const { url } = await openServer({ over })
    const { connection } = await connectedTo(url)
    const reject = () => Promise.reject({ code: -1, message: 'The person said no' })
    await expect(connection.call('ask', {}, { ...patient, onServerRequest: reject })).rejects.toMatchObject({
      remote: { code: -1, message: expect.stringContaining('The person said no') },
    })
    await expect(connection.call('ask', {}, patient)).rejects.toMatchObject({
      remote: { code: -32601, message: expect.stringContaining('The client does not support') },
    })
  })

  test('progress reaches its own call, and the rest of _meta is forwarded', async () => {
    const { url } = await openServer({ over })
    const { connection } = await connectedTo(url)
    const received: string[][] = [[], []]
    const count = (which: number, steps: number) =>
      connection.call(
        'count',
        { steps },
        {
          ...patient,
          meta: { progressToken: 'theirs', traceparent: '00-1' },
          onProgress: ({ message }) => received[which]?.push(String(message)),
        },
      )
    const results = await Promise.all([count(0, 3), count(1, 2)])
    expect(received).toEqual([
      ['step 1', 'step 2', 'step 3'],
      ['step 1', 'step 2'],
    ])
    for (const result of results)
      expect(contentOf(result)).toEqual({
        token: expect.any(Number),
        meta: { progressToken: expect.any(Number), traceparent: '00-1' },
      })
  })

  test('notifications are passed on as log lines and to agents, except those that concern only the connection', async () => {
    const lines: string[] = []
    const notifications: unknown[] = []
    const { url, tell } = await openServer({ over, capabilities: { tools: {}, resources: {}, logging: {} } })
    const { connection, lists } = await connectedTo(url, {
      onLogText: (text) => lines.push(text),
      onNotification: (method, params) => notifications.push([method, params]),
    })
    await connection.call('say', { text: 'hot' }, patient)
    expect(lines).toEqual(['[warning] asking: hot'])
    // The notification stream may open a moment after the connection is ready.
    await expect
      .poll(async () => {
        await tell('notifications/resources/updated', { uri: 'note://a' })
        return notifications.length
      })
      .toBeGreaterThan(1)
    expect(notifications[0]).toEqual([
      'notifications/message',
      { level: 'warning', logger: 'asking', data: 'hot' },
    ])
    expect(notifications[1]).toEqual(['notifications/resources/updated', { uri: 'note://a' }])
    await tell('notifications/cancelled', { requestId: 1 })
    await tell('notifications/tools/list_changed')
    await expect.poll(() => lists.length).toBeGreaterThan(1)
    expect(JSON.stringify(notifications)).not.toMatch(/cancelled|tools/)
  })
})

test('a request of the server in the response stream of a call goes to the caller of that call only', async () => {
  const { url } = await openServer()
  const { connection } = await connectedTo(url)
  const [first, second] = [caller('first'), caller('second')]
  let release = () => {}
  const waiting = new Promise<void>((resolve) => {
    release = resolve
  })
  const earlier = connection.call(
    'ask',
    { text: 'private' },
    {
      ...patient,
      onServerRequest: async (...request) => {
        await waiting
        return first.onServerRequest(...request)
      },
    },
  )
  const later = connection.call(
    'ask',
    { text: 'public' },
    { ...patient, onServerRequest: second.onServerRequest },
  )
  expect(JSON.stringify(contentOf(await later))).toContain('second')
  const unsupported = connection.call('ask', { text: 'private' }, patient)
  await expect(unsupported).rejects.toMatchObject({ remote: { code: -32601 } })
  release()
  expect(JSON.stringify(contentOf(await earlier))).toContain('first')
  expect([first.received, second.received]).toEqual([
    [['sampling/createMessage', 'private']],
    [['sampling/createMessage', 'public']],
  ])
})

test('calls with progress and with server requests run once in a new session after the server lost the old one', async () => {
  const server = await openServer()
  const { connection } = await connectedTo(server.url)
  server.forget()
  const received: unknown[] = []
  const onProgress = ({ progress }: Readonly<Record<string, unknown>>) => received.push(progress)
  await connection.call('count', { steps: 2 }, { ...patient, onProgress })
  expect([received, server.calls()]).toEqual([[1, 2], 1])
  server.forget()
  const { onServerRequest } = caller('first')
  const result = await connection.call('ask', { apart: true }, { ...patient, onServerRequest })
  expect(JSON.stringify(contentOf(result))).toContain('first')
  expect(server.calls()).toBe(2)
})

test('a call that is cancelled during a request of the server ends at once, and the late answer is ignored', async () => {
  const { url } = await openServer()
  const { connection } = await connectedTo(url)
  const cancel = new AbortController()
  let answer = (_: unknown) => {}
  const onServerRequest = () => {
    cancel.abort()
    return new Promise<unknown>((resolve) => {
      answer = resolve
    })
  }
  expect(
    await failureOf(connection.call('ask', {}, { ...patient, signal: cancel.signal, onServerRequest })),
  ).toBe('cancelled')
  answer({ role: 'assistant', model: 'm', content: { type: 'text', text: 'late' } })
  expect(contentOf(await connection.call('count', {}, patient))).toEqual({})
})
