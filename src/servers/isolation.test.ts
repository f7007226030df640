import { expect, test } from 'vitest'
import { add } from '../../test/support/furnished.ts'
import { AUTHORISED, openHouse } from '../../test/support/house.ts'

const node = { name: 'a', command: 'node', args: ['x.js'] }

test('a server has no isolation unless it or DEFAULT_ISOLATION says so, and a change keeps the other options', async () => {
  const house = await openHouse()
  expect((await add(house, node)).json()).toMatchObject({
    isolation: 'none',
    place: 'local',
    isolation_options: { write: [], read: [], network: 'none', image: null, memory_mb: 1024, pids: 256 },
  })
  const change = (payload: object) =>
    house.inject({ method: 'PATCH', url: '/api/servers/a', headers: AUTHORISED, payload })
  await change({ isolation: 'sandbox', isolation_options: { write: ['~/notes'] } })
  const changed = await change({ isolation_options: { network: 'full' } })
  expect(changed.json()).toMatchObject({
    place: 'sandbox',
    isolation_options: { write: ['~/notes'], network: 'full' },
  })
  const sandboxed = await openHouse({ env: { DEFAULT_ISOLATION: 'sandbox' } })
  expect((await add(sandboxed, node)).json()).toMatchObject({ isolation: 'sandbox', place: 'sandbox' })
  expect((await add(sandboxed, { ...node, name: 'b', isolation: 'none' })).json()).toMatchObject({
    place: 'local',
  })
})

test('a container needs an image that the server or its docker run names, and what it cannot have is named', async () => {
  const house = await openHouse()
  const refused = async (fields: object) => {
    const reply = await add(house, { ...node, isolation: 'container', ...fields })
    expect(reply.statusCode, reply.body).toBe(422)
    return reply.json().errors[0]
  }
  expect(await refused({})).toEqual({
    path: '/isolation_options/image',
    message: 'is required with isolation container',
  })
  expect(await refused({ command: 'docker', args: ['run', '-i', '-p', '80:80', 'a'] })).toEqual({
    path: '/args',
    message: 'cannot be run in a container of Toolroom: -p',
  })
  expect(await refused({ isolation_options: { write: ['relative'] } })).toMatchObject({
    path: '/isolation_options/write/0',
  })
  const run = { command: 'docker', args: ['run', '-i', '--rm', 'mcp/time'] }
  expect((await add(house, { ...node, ...run, isolation: 'container' })).json()).toMatchObject({
    place: 'container',
    command: 'docker',
  })
})

test('the import of a docker run says whether Toolroom can run its container', async () => {
  const house = await openHouse()
  const notes = async (snippet: string) => {
    const payload = { snippet, dry_run: true }
    const reply = await house.inject({
      method: 'POST',
      url: '/api/servers/import',
      headers: AUTHORISED,
      payload,
    })
    return reply.json().items[0].notes.join('\n')
  }
  expect(await notes('docker run -i --rm mcp/time')).toContain(
    'Set isolation to container, and isolation_options.network to full, and Toolroom runs and ends it',
  )
  expect(await notes('docker run -i --rm -p 80:80 mcp/time')).toContain(
    'Toolroom cannot run this container itself, because it has -p',
  )
})
