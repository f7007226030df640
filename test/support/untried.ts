import { expect } from 'vitest'
import { ownFolder } from './folder.ts'
import { definition, get, post, register } from './running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from './test-service.ts'
import { add } from './with-servers.ts'

/** The only server that works. */
export const WORKS = 'works'
/** The state of every server after the restart. */
export const STATES: Readonly<Record<string, string>> = {
  [WORKS]: 'idle',
  never: 'not_tried',
  changed: 'not_tried',
  missing: 'failed',
  secretless: 'failed',
  crashes: 'crashed',
  remote: 'not_tried',
}

/**
 * A service that was restarted, with servers that have not worked since their definition last changed: never tried, tried
 * and then changed, with a command that does not exist, with a secret that was deleted, failed before the restart, never
 * connected. One has worked before the restart. No process runs.
 */
export async function openUntried(options: Parameters<typeof openTestService>[0] = {}) {
  const home = ownFolder()
  const before = await openTestService({ home })
  const asleep = { start_mode: 'on_demand', restart: { policy: 'never' } }
  const secret = { method: 'PUT', headers: AUTHORISED, url: '/api/secrets/token' } as const
  await before.inject({ ...secret, payload: { value: 'a-value-of-a-secret' } })
  for (const name of [WORKS, 'never', 'changed']) await register(before, 'echo', [], { name, ...asleep })
  const env = { TOKEN: `\${secret:token}` }
  await register(before, 'noenv', ['--name=TOKEN'], { name: 'secretless', ...asleep, env })
  await register(before, 'crash', [], { name: 'crashes', ...asleep })
  await register(before, 'echo', [], { name: 'missing', ...asleep, command: 'no-such-program' })
  await add(before, { name: 'remote', url: 'http://127.0.0.1:9/mcp' }, '/api/http-servers')
  for (const id of [WORKS, 'changed', 'secretless']) {
    expect((await post(before, `/api/servers/${id}/start`)).statusCode).toBe(200)
    expect((await get(before, id)).last_try).toMatchObject({ ok: true, code: null })
  }
  await post(before, '/api/servers/crashes/start')
  const failed = await get(before, 'crashes')
  const notices = (await before.inject('/api/notices')).json().items
  await before.inject({
    method: 'PATCH',
    url: '/api/servers/changed',
    headers: AUTHORISED,
    payload: { args: [...definition('echo').args, '--other'] },
  })
  await before.inject({ ...secret, method: 'DELETE', url: `${secret.url}?force=true` })
  await before.close()
  const service = await openTestService({ home, ...options })
  return { service, failed, notices }
}

/** Both kinds. */
export const allServers = async (service: TestService) => [
  ...(await service.inject('/api/servers')).json().items,
  ...(await service.inject('/api/http-servers')).json().items,
]
