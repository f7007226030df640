import { describe, expect, test } from 'vitest'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'

const node = { name: 'a', command: 'node', args: ['x.js'] }

test('a server has no isolation unless it or DEFAULT_ISOLATION says so, and a change keeps the other options', async () => {
  const service = await openTestService()
  expect((await add(service, node)).json()).toMatchObject({
    isolation: 'none',
    place: 'local',
    isolation_options: { write: [], read: [], network: 'none', image: null, memory_mb: 1024, pids: 256 },
  })
  const change = (payload: object) =>
    service.inject({ method: 'PATCH', url: '/api/servers/a', headers: AUTHORISED, payload })
  await change({ isolation: 'sandbox', isolation_options: { write: ['~/notes'] } })
  const changed = await change({ isolation_options: { network: 'full' } })
  expect(changed.json()).toMatchObject({
    place: 'sandbox',
    isolation_options: { write: ['~/notes'], network: 'full' },
  })
  const sandboxed = await openTestService({ env: { DEFAULT_ISOLATION: 'sandbox' } })
  expect((await add(sandboxed, node)).json()).toMatchObject({ isolation: 'sandbox', place: 'sandbox' })
  expect((await add(sandboxed, { ...node, name: 'b', isolation: 'none' })).json()).toMatchObject({
    place: 'local',
  })
})

test('a container needs an image that the server or its docker run names, and what it cannot have is named', async () => {
  const service = await openTestService()
  const refused = async (fields: object) => {
    const reply = await add(service, { ...node, isolation: 'container', ...fields })
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
  expect((await add(service, { ...node, ...run, isolation: 'container' })).json()).toMatchObject({
    place: 'container',
    command: 'docker',
  })
})

test('the audit rows of a server and its starts have its place', async () => {
  const service = await openTestService()
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  const url = '/api/logs?source=audit'
  const { items } = (await service.inject({ url, headers: AUTHORISED })).json()
  const rows = items.map(({ message, data }: { message: string; data: object }) =>
    JSON.stringify([message, data]),
  )
  for (const action of ['server_added', 'server_started'])
    expect(rows.find((row: string) => row.includes(action))).toContain('"place":"local"')
})

describe('the import of a docker run', () => {
  const imported = async (service: TestService, snippet: string, dry_run: boolean) => {
    const url = '/api/servers/import'
    const payload = { snippet, dry_run }
    const reply = await service.inject({ method: 'POST', url, headers: AUTHORISED, payload })
    return reply.json().items[0]
  }
  const KEY = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'

  test('the dry run shows the container, without secrets, and adds nothing', async () => {
    const service = await openTestService()
    const line = `docker run -i --rm -e TOKEN=${KEY} -v /data:/data:ro --mount type=bind,src=/out,dst=/out -m 512m --network none mcp/notes --key ${KEY}`
    const item = await imported(service, line, true)
    expect(item.container).toEqual({
      image: 'mcp/notes',
      entrypoint: null,
      args: ['--key', '***'],
      env: ['TOKEN'],
      mounts: [
        { source: '/data', target: '/data', access: 'read' },
        { source: '/out', target: '/out', access: 'write' },
      ],
      network: 'none',
      memory_mb: 512,
      pids: null,
    })
    expect(JSON.stringify(item)).not.toContain(KEY)
    expect(item.notes.join()).toContain('run toolroom images pull mcp/notes')
    expect((await service.inject('/api/servers')).json().total).toBe(0)
  })

  test('the server runs in a container of Toolroom, with the network and limits of the command', async () => {
    const service = await openTestService()
    const { outcome, id } = await imported(service, 'podman run -i --rm --pids-limit 99 mcp/time', false)
    expect(outcome).toBe('created')
    const server = (await service.inject(`/api/servers/${id}`)).json()
    expect(server).toMatchObject({ place: 'container', isolation: 'container', command: 'podman' })
    expect(server.isolation_options).toMatchObject({ network: 'full', memory_mb: 1024, pids: 99 })
  })

  test.each([
    ['docker run -i --rm -p 80:80 mcp/time', 'it has -p'],
    ['docker run -i --privileged mcp/time', 'it has --privileged'],
    ['docker run -i --brand-new-flag mcp/time', 'it has --brand-new-flag'],
    ['docker run -i -m 8m mcp/time', 'its --memory is not from 16 to 1048576 MiB'],
    ['docker run --rm mcp/time', 'it has no -i'],
  ])('%s stays a command, and a note says why', async (line, why) => {
    const service = await openTestService()
    const { outcome, id, container, notes } = await imported(service, line, false)
    expect({ outcome, container }).toEqual({ outcome: 'created', container: null })
    expect(notes.join()).toContain(`which Toolroom cannot run itself: ${why}`)
    expect((await service.inject(`/api/servers/${id}`)).json()).toMatchObject({ place: 'local' })
  })
})

test('an import gives its STDIO servers the given isolation, and a server with another one is another one', async () => {
  const service = await openTestService()
  const imported = async (more: object) => {
    const mcpServers = { notes: { command: 'node' }, docs: { url: 'http://127.0.0.1:9/mcp' } }
    const payload = { mcpServers, ...more }
    const headers = AUTHORISED
    const reply = await service.inject({ method: 'POST', url: '/api/servers/import', headers, payload })
    expect(reply.statusCode, reply.body).toBe(200)
    return reply.json().items
  }
  const confinement = { isolation: 'sandbox', isolation_options: { write: ['~/notes'] } }
  expect(await imported({ isolation: 'container', dry_run: true })).toMatchObject([
    { outcome: 'refused', reason: 'isolation_options/image is required with isolation container' },
    { outcome: 'created' },
  ])
  expect(await imported(confinement)).toMatchObject([{ outcome: 'created' }, { outcome: 'created' }])
  const view = async () => (await service.inject('/api/servers/notes')).json()
  expect(await view()).toMatchObject({
    ...confinement,
    isolation_options: { write: ['~/notes'], network: 'none' },
  })
  expect(await imported(confinement)).toMatchObject([{ outcome: 'unchanged' }, {}])
  expect(await imported({})).toMatchObject([{ outcome: 'unchanged' }, {}])
  expect(await imported({ isolation: 'none' })).toMatchObject([{ outcome: 'exists' }, {}])
  expect(await imported({ isolation_options: { network: 'full' }, on_conflict: 'update' })).toMatchObject([
    { outcome: 'updated' },
    { outcome: 'unchanged' },
  ])
  expect(await view()).toMatchObject({
    ...confinement,
    isolation_options: { write: ['~/notes'], network: 'full' },
  })
})
