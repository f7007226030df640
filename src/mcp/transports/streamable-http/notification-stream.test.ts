import { expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../../../../test/conformance/pipe.mjs'
import { connectedTo } from '../../../../test/support/remote.ts'

const patient = { timeoutMs: 60_000 }
const LEGACY = { transport: 'streamable_http', protocol_version: '2025-11-25' } as const

/** A client of a server that supports both eras, and everything it received. */
async function connected(known: typeof LEGACY | null) {
  const pipe = await startPipe()
  onTestFinished(() => pipe.close())
  const lists: string[] = []
  const lines: string[] = []
  const notifications: string[] = []
  const { connection } = await connectedTo(pipe.url, {
    known,
    onList: (kind, items) => lists.push(`${items.length > 0 ? 'some' : 'no'} ${kind}`),
    onLogText: (text) => lines.push(text),
    onNotification: (method) => notifications.push(method),
  })
  expect(connection.handshake?.era).toBe(known ? 'legacy' : 'modern')
  return { connection, lists, lines, notifications }
}

test.each([
  ['legacy', LEGACY],
  ['modern', null],
])(
  'the lists of a server in the %s era are fetched, and fetched again after a change notification',
  async (_, known) => {
    const { connection, lists, notifications } = await connected(known)
    await expect
      .poll(() => lists.toSorted())
      .toEqual(['some prompts', 'some resource_templates', 'some resources'])
    const changed = 'notifications/prompts/list_changed'
    // The subscription may start a moment after the connection is ready.
    await expect
      .poll(async () => {
        await connection.call('test_trigger_prompt_change', {}, patient)
        return notifications
      })
      .toContain(changed)
    await expect.poll(() => lists.length).toBeGreaterThan(3)
    expect(lists.slice(3)).toContain('some prompts')
    expect(notifications.filter((method) => method !== changed)).toEqual([])
  },
)

test('log messages of a modern server are received after a legacy caller has set the log level', async () => {
  const { connection, lines, notifications } = await connected(null)
  await connection.call('test_tool_with_logging', {}, patient)
  expect(lines).toEqual([])
  const { value } = await connection.relay('logging/setLevel', { level: 'info' }, patient)
  expect(value).toEqual({})
  await connection.call('test_tool_with_logging', {}, patient)
  expect(lines).toHaveLength(3)
  expect(notifications).toEqual(Array(3).fill('notifications/message'))
})

test('a legacy caller that subscribes to a resource of a modern server receives its updates', async () => {
  const { connection, notifications } = await connected(null)
  const uri = 'test://watched-resource'
  await connection.relay('resources/subscribe', { uri }, patient)
  await expect
    .poll(async () => {
      await connection.call('test_trigger_resource_change', {}, patient)
      return notifications
    })
    .toContain('notifications/resources/updated')
})
