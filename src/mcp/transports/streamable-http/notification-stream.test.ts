import { expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../../../../test/conformance/pipe.mjs'
import { connectedTo } from '../../../../test/support/remote.ts'

const patient = { timeoutMs: 5000 }
const LEGACY = { transport: 'streamable_http', protocol_version: '2025-11-25' } as const

/** A server of both eras that offers everything, and whatever was heard of it. */
async function offering(known: typeof LEGACY | null) {
  const pipe = await startPipe()
  onTestFinished(() => pipe.close())
  const lists: string[] = []
  const lines: string[] = []
  const notes: string[] = []
  const { connection } = await connectedTo(pipe.url, {
    known,
    onList: (kind, items) => lists.push(`${items.length > 0 ? 'some' : 'no'} ${kind}`),
    onLogText: (text) => lines.push(text),
    onNotification: (method) => notes.push(method),
  })
  expect(connection.handshake?.era).toBe(known ? 'legacy' : 'modern')
  return { connection, lists, lines, notes }
}

test.each([
  ['legacy', LEGACY],
  ['modern', null],
])('a server greeted in the %s era tells all that it offers, and what becomes of it', async (_, known) => {
  const { connection, lists, notes } = await offering(known)
  await expect
    .poll(() => lists.toSorted())
    .toEqual(['some prompts', 'some resource_templates', 'some resources'])
  const changed = 'notifications/prompts/list_changed'
  // Who listens may be heard a moment after the connection is ready.
  await expect
    .poll(async () => {
      await connection.call('test_trigger_prompt_change', {}, patient)
      return notes
    })
    .toContain(changed)
  await expect.poll(() => lists.length).toBeGreaterThan(3)
  expect(lists.slice(3)).toContain('some prompts')
  expect(notes.filter((method) => method !== changed)).toEqual([])
})

test('the log of a modern server is heard from the level on that a legacy caller has asked for', async () => {
  const { connection, lines, notes } = await offering(null)
  await connection.call('test_tool_with_logging', {}, patient)
  expect(lines).toEqual([])
  const { value } = await connection.relay('logging/setLevel', { level: 'info' }, patient)
  expect(value).toEqual({})
  await connection.call('test_tool_with_logging', {}, patient)
  expect(lines).toHaveLength(3)
  expect(notes).toEqual(Array(3).fill('notifications/message'))
})

test('a resource of a modern server that a legacy caller watches is told of', async () => {
  const { connection, notes } = await offering(null)
  const uri = 'test://watched-resource'
  await connection.relay('resources/subscribe', { uri }, patient)
  await expect
    .poll(async () => {
      await connection.call('test_trigger_resource_change', {}, patient)
      return notes
    })
    .toContain('notifications/resources/updated')
})
