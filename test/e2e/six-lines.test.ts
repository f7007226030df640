import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { byNode } from '../support/real-servers.ts'
import { until } from '../support/running-servers.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

const page = readFileSync(fileURLToPath(new URL('../../docs/api.md', import.meta.url)), 'utf8')

/** The requests of the section: the method, the path, and what is sent. */
const REQUESTS = [...page.matchAll(/^curl -s (?:-H @<\(auth\) )?(.*)$/gm)]
  .slice(0, 5)
  .map(([, line = '']) => {
    const [, path = ''] = /http:\/\/127\.0\.0\.1:8665([^\s']+)/.exec(line) ?? []
    const [, body] = /-d '([^']*)'/.exec(line) ?? []
    return { method: body || line.includes('-X POST') ? ('POST' as const) : ('GET' as const), path, body }
  })
const PRINTED = /^The last three print:\n\n```\n([\s\S]*?)```/m.exec(page)?.[1] ?? ''

/** Without times, and without how long a start took. */
const lasting = (printed: string): string => printed.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z/gm, '(time)')

test('the lines with curl of docs/api.md do what they say, and the last three print what is shown there', async () => {
  const service = await openTestService()
  const printed: string[] = []
  expect(REQUESTS).toHaveLength(5)
  for (const { method, path, body } of REQUESTS) {
    if (path === '/api/logs/download?format=text&server_id=memory')
      await expect.poll(async () => (await service.inject(path)).body).toContain('handshake done')
    // The installed package in place of its download with npx.
    const definition = { ...JSON.parse(body ?? '{}'), ...byNode('memory') }
    definition.env = { MEMORY_FILE_PATH: join(service.home, 'memory.jsonl') }
    const isServer = path === '/api/servers'
    const payload = body && { payload: isServer ? definition : JSON.parse(body) }
    const reply = await service.inject({ method, url: path, headers: AUTHORISED, ...payload })
    expect(reply.statusCode, reply.body).toBeLessThan(300)
    if (path.endsWith('/start')) await until(service, 'memory', ({ status }) => status === 'running')
    printed.push(reply.body)
  }
  expect(lasting(printed.slice(2).join('\n'))).toBe(lasting(PRINTED))
})
