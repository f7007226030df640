import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
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

test('a misspelt field is refused, so that no agent sees the server by mistake', async () => {
  const { service } = await open()
  expect((await post(service, '/api/sample-server', { agent: [] })).statusCode).toBe(422)
  expect((await service.inject('/api/servers')).json().total).toBe(0)
})

test('it can be added and removed at the same time and again, also after its program was deleted', async () => {
  const { service, ask, folder } = await open()
  const statusOf = async (method: 'POST' | 'DELETE') => (await ask(method)).status
  expect(await Promise.all([statusOf('POST'), statusOf('POST')])).toEqual([201, 201])
  await Promise.all([statusOf('DELETE'), statusOf('POST'), statusOf('DELETE'), statusOf('POST')])
  expect(existsSync(join(folder, 'notes-server.cjs'))).toBe(true)
  expect(await ask('GET')).toMatchObject({ body: { server_id: 'sample' } })
  await post(service, '/api/servers/sample/stop')
  rmSync(folder, { recursive: true })
  expect(await statusOf('POST')).toBe(201)
  expect(await statusOf('DELETE')).toBe(204)
  expect(existsSync(folder)).toBe(false)
})

test('a file or a link in the place of its folder is neither written to nor deleted', async () => {
  const { service, ask, folder } = await open()
  const other = join(service.home, 'precious')
  mkdirSync(other)
  for (const put of [() => writeFileSync(folder, 'mine'), () => symlinkSync(other, folder)]) {
    put()
    expect(await ask('POST')).toMatchObject({ status: 409, body: { code: 'config_unsafe' } })
    expect((await ask('DELETE')).status).toBe(409)
    expect(existsSync(folder)).toBe(true)
    unlinkSync(folder)
  }
  expect(readdirSync(other)).toEqual([])
})

test('a server that the user has made of it keeps its program and the notes', async () => {
  const { service, ask, folder } = await open()
  expect((await ask('POST')).status).toBe(201)
  const args = [join(folder, 'notes-server.cjs')]
  expect((await post(service, '/api/servers', { name: 'mine', command: 'node', args })).statusCode).toBe(201)
  expect((await ask('DELETE')).status).toBe(204)
  expect((await ask('DELETE')).status).toBe(404)
  expect(existsSync(args[0] ?? '')).toBe(true)
  expect((await service.inject('/api/servers')).json().items).toMatchObject([{ id: 'mine' }])
})
