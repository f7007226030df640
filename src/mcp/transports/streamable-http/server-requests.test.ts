import { describe, expect, onTestFinished, test } from 'vitest'
import { openAsking } from '../../../../test/fixtures/http/asking.ts'
import { failureOf } from '../../../../test/support/pair.ts'
import { connectedTo, textOf } from '../../../../test/support/remote.ts'
import type { OnServerRequest } from '../../../protocol/call.ts'

const patient = { timeoutMs: 5000 }
const said = (result: { value: unknown }) => JSON.parse(textOf(result) ?? '')

async function asking(options: Parameters<typeof openAsking>[0] = {}) {
  const server = await openAsking(options)
  onTestFinished(() => void server.close())
  return server
}

/** Somebody who can be asked, and what that was. */
function somebody(name: string) {
  const asked: unknown[] = []
  const onServerRequest: OnServerRequest = async (method, params) => {
    asked.push([method, JSON.stringify(params).includes('private') ? 'private' : 'public'])
    if (method === 'elicitation/create') return { action: 'accept', content: { name } }
    return { role: 'assistant', model: 'm', content: { type: 'text', text: name } }
  }
  return { asked, onServerRequest }
}

describe.each(['streamable', 'sse'] as const)('over %s', (over) => {
  test.each([
    ['sampling', false],
    ['elicitation', false],
    ['sampling', true],
    ['elicitation', true],
  ] as const)(
    'what a server asks (%s, apart from the call: %s) is answered by who calls',
    async (kind, apart) => {
      const { url } = await asking({ over })
      const { connection } = await connectedTo(url)
      const { asked, onServerRequest } = somebody('first')
      const result = await connection.call(
        'ask',
        { kind, apart, text: 'public' },
        { ...patient, onServerRequest },
      )
      expect(JSON.stringify(said(result))).toContain('first')
      expect(asked).toEqual([
        [kind === 'sampling' ? 'sampling/createMessage' : 'elicitation/create', 'public'],
      ])
    },
  )

  test('what a server asks while it reads a resource is answered as well', async () => {
    const { url } = await asking({ over, capabilities: { tools: {}, resources: {} } })
    const { connection } = await connectedTo(url)
    const { onServerRequest } = somebody('first')
    const { value } = await connection.relay(
      'resources/read',
      { uri: 'note://a' },
      { ...patient, onServerRequest },
    )
    expect(value).toEqual({ contents: [{ uri: 'note://a', text: 'accept' }] })
  })

  test('a refusal, and that nobody can be asked, reach the server as errors', async () => {
    const { url } = await asking({ over })
    const { connection } = await connectedTo(url)
    const refuses = () => Promise.reject({ code: -1, message: 'The person said no' })
    await expect(connection.call('ask', {}, { ...patient, onServerRequest: refuses })).rejects.toMatchObject({
      remote: { code: -1, message: expect.stringContaining('The person said no') },
    })
    await expect(connection.call('ask', {}, patient)).rejects.toMatchObject({
      remote: { code: -32601, message: expect.stringContaining('not supported') },
    })
  })

  test('progress comes with a token of ours, to who called, and the rest of _meta is kept', async () => {
    const { url } = await asking({ over })
    const { connection } = await connectedTo(url)
    const heard: string[][] = [[], []]
    const count = (which: number, steps: number) =>
      connection.call(
        'count',
        { steps },
        {
          ...patient,
          meta: { progressToken: 'theirs', traceparent: '00-1' },
          onProgress: ({ message }) => heard[which]?.push(String(message)),
        },
      )
    const results = await Promise.all([count(0, 3), count(1, 2)])
    expect(heard).toEqual([
      ['step 1', 'step 2', 'step 3'],
      ['step 1', 'step 2'],
    ])
    for (const result of results)
      expect(said(result)).toEqual({
        token: expect.any(Number),
        meta: { progressToken: expect.any(Number), traceparent: '00-1' },
      })
  })

  test('what it says unasked is heard: for people, for agents, and what concerns only us is kept', async () => {
    const lines: string[] = []
    const notes: unknown[] = []
    const { url, tell } = await asking({ over, capabilities: { tools: {}, resources: {}, logging: {} } })
    const { connection, lists } = await connectedTo(url, {
      onLogText: (text) => lines.push(text),
      onNotification: (method, params) => notes.push([method, params]),
    })
    await connection.call('say', { text: 'hot' }, patient)
    expect(lines).toEqual(['[warning] asking: hot'])
    // The stream for what is said unasked may open a moment after the connection is ready.
    await expect
      .poll(async () => {
        await tell('notifications/resources/updated', { uri: 'note://a' })
        return notes.length
      })
      .toBeGreaterThan(1)
    expect(notes[0]).toEqual(['notifications/message', { level: 'warning', logger: 'asking', data: 'hot' }])
    expect(notes[1]).toEqual(['notifications/resources/updated', { uri: 'note://a' }])
    await tell('notifications/cancelled', { requestId: 1 })
    await tell('notifications/tools/list_changed')
    await expect.poll(() => lists.length).toBeGreaterThan(1)
    expect(JSON.stringify(notes)).not.toMatch(/cancelled|tools/)
  })
})

test('a question that comes along with a call goes to who made that one, and to nobody else', async () => {
  const { url } = await asking()
  const { connection } = await connectedTo(url)
  const [first, second] = [somebody('first'), somebody('second')]
  let release = () => {}
  const waiting = new Promise<void>((resolve) => {
    release = resolve
  })
  const earlier = connection.call(
    'ask',
    { text: 'private' },
    {
      ...patient,
      onServerRequest: async (...question) => {
        await waiting
        return first.onServerRequest(...question)
      },
    },
  )
  const later = connection.call(
    'ask',
    { text: 'public' },
    { ...patient, onServerRequest: second.onServerRequest },
  )
  expect(JSON.stringify(said(await later))).toContain('second')
  const nobody = connection.call('ask', { text: 'private' }, patient)
  await expect(nobody).rejects.toMatchObject({ remote: { code: -32601 } })
  release()
  expect(JSON.stringify(said(await earlier))).toContain('first')
  expect([first.asked, second.asked]).toEqual([
    [['sampling/createMessage', 'private']],
    [['sampling/createMessage', 'public']],
  ])
})

test('a call with progress and a question, in a session that was forgotten, is made once in a new one', async () => {
  const server = await asking()
  const { connection } = await connectedTo(server.url)
  server.forget()
  const heard: unknown[] = []
  const onProgress = ({ progress }: Readonly<Record<string, unknown>>) => heard.push(progress)
  await connection.call('count', { steps: 2 }, { ...patient, onProgress })
  expect([heard, server.calls()]).toEqual([[1, 2], 1])
  server.forget()
  const { onServerRequest } = somebody('first')
  const result = await connection.call('ask', { apart: true }, { ...patient, onServerRequest })
  expect(JSON.stringify(said(result))).toContain('first')
  expect(server.calls()).toBe(2)
})

test('a call that is cancelled while somebody is asked ends at once, and the late answer harms nobody', async () => {
  const { url } = await asking()
  const { connection } = await connectedTo(url)
  const gone = new AbortController()
  let answer = (_: unknown) => {}
  const onServerRequest = () => {
    gone.abort()
    return new Promise<unknown>((resolve) => {
      answer = resolve
    })
  }
  expect(
    await failureOf(connection.call('ask', {}, { ...patient, signal: gone.signal, onServerRequest })),
  ).toBe('cancelled')
  answer({ role: 'assistant', model: 'm', content: { type: 'text', text: 'late' } })
  expect(said(await connection.call('count', {}, patient))).toEqual({})
})
