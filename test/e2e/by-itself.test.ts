import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openHttp } from '../fixtures/http/sites.ts'
import { tiny } from '../fixtures/http/tiny.ts'
import { ownFolder } from '../support/folder.ts'
import { type OpenApi, readOpenApi } from '../support/openapi.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const PRELOAD = fileURLToPath(new URL('../support/connections.cjs', import.meta.url))

test('a service contacts only the HTTP servers that are registered, and no GET changes anything (README, Is it safe?; SECURITY.md)', async () => {
  const remote = await openHttp(tiny)
  onTestFinished(() => remote.close())
  const seen = join(ownFolder(), 'connections')
  const service = await openService({
    env: {
      NODE_OPTIONS: `--require=${PRELOAD}`,
      TOOLROOM_TEST_CONNECTIONS: seen,
      HTTP_CHECK_INTERVAL_S: '10',
    },
  })
  const must = async (method: string, path: string, body?: object) => {
    const reply = await service.ask(method, path, body)
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300)
    return reply.body
  }
  await service.add(definition('echo'))
  await service.start('echo')
  await must('POST', '/servers/echo/tools/echo/call', { arguments: { text: 'hello' } })
  await must('POST', '/http-servers', { name: 'far', url: `${remote.origin}/mcp` })
  await must('POST', '/http-servers/far/test')
  await must('PUT', '/secrets/A', { value: 'a value' })
  const key = await must('POST', '/keys', { agent_type: 'cursor' })
  await must('POST', '/agents/cursor/connect', { create: true })

  const ids: Readonly<Record<string, string>> = { id: 'echo', name: 'A', tool: 'echo', agent_type: 'cursor' }
  const idIn = (path: string, name: string) =>
    name === 'id' && path.includes('http-servers')
      ? 'far'
      : path.includes('/keys/')
        ? key.id
        : (ids[name] ?? '1')
  const state = async () => {
    const { items: audited } = await must('GET', '/logs?source=audit&limit=1000')
    return { audited, exported: { ...(await must('GET', '/export')), exported_at: '' } }
  }
  const before = await state()
  const document = (await (await fetch(`${service.address}/docs/json`)).json()) as OpenApi
  const reads = readOpenApi(document).operations.filter(({ method }) => method.toUpperCase() === 'GET')
  const statuses = new Map<number, number>()
  for (const { path } of reads) {
    const url = path.replace(/^\/api/, '').replace(/\{(\w+)\}/g, (_, name) => idIn(path, name))
    if (/download|prometheus|\/export/.test(path)) continue // no JSON, or read by `state`
    const { status } = await service.ask('GET', url)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  expect(reads.length).toBeGreaterThan(40)
  expect(statuses.get(200)).toBeGreaterThan(30)
  expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([])
  expect(await state()).toEqual(before)

  const connected = existsSync(seen) ? new Set(readFileSync(seen, 'utf8').trim().split('\n')) : new Set()
  expect([...connected]).toEqual([new URL(remote.origin).host])
})
