import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { definition, post } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'

async function open() {
  const service = await openTestService()
  const ask = async (method: 'GET' | 'POST' | 'DELETE') => {
    const reply = await service.inject({ method, url: '/api/sample-server', headers: AUTHORISED })
    return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json() }
  }
  const call = async (tool: string, args: object) => {
    const reply = await post(service, `/api/servers/sample/tools/${tool}/call`, { arguments: args })
    const result = reply.json()
    return [result.isError ?? false, result.content[0].text]
  }
  return { service, ask, call, folder: join(service.data, 'sample') }
}

test('the sample server keeps notes in a folder of its own, in plain Node without a dependency, and is removed with it', async () => {
  const { service, ask, call, folder } = await open()
  expect(await ask('GET')).toEqual({ status: 200, body: { server_id: null, folder } })
  expect((await ask('DELETE')).status).toBe(404)
  expect(await ask('POST')).toEqual({ status: 201, body: { server_id: 'sample', folder } })
  expect(await ask('POST')).toEqual({ status: 201, body: { server_id: 'sample', folder } })
  expect((await service.inject('/api/servers/sample')).json()).toMatchObject({
    status: 'running',
    command: 'node',
    tool_count: 3,
  })

  expect(await call('list_notes', {})).toEqual([false, 'There are no notes yet.'])
  expect(await call('add_note', { text: 'Buy milk' })).toEqual([false, 'Note 1 is kept: Buy milk'])
  expect(await call('add_note', { text: 'Call Ada' })).toEqual([false, 'Note 2 is kept: Call Ada'])
  expect(await call('list_notes', {})).toEqual([false, '1  Buy milk\n2  Call Ada'])
  expect(await call('search_notes', { query: 'MILK' })).toEqual([false, '1  Buy milk'])
  expect(await call('search_notes', { query: 'tea' })).toEqual([false, 'No note contains "tea".'])
  expect(await call('add_note', { text: ' ' })).toEqual([true, 'A note has 1 to 2000 characters'])

  expect((await ask('DELETE')).status).toBe(204)
  expect((await service.inject('/api/servers')).json().total).toBe(0)
  expect(existsSync(folder)).toBe(false)
})

test('a server of the user that is called sample stays as it is, and nothing is left of the attempt', async () => {
  const { service, ask, folder } = await open()
  expect((await post(service, '/api/servers', definition('echo', [], { name: 'sample' }))).statusCode).toBe(
    201,
  )
  expect(await ask('POST')).toMatchObject({ status: 409, body: { code: 'server_exists' } })
  expect(existsSync(folder)).toBe(false)
  expect((await ask('DELETE')).status).toBe(404)
  expect((await service.inject('/api/servers')).json().total).toBe(1)
})
