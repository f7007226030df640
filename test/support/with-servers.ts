import { expect } from 'vitest'
import { AUTHORISED, openTestService, type TestService } from './test-service.ts'

export const SERVER = { name: 'GitHub', command: 'npx', args: ['-y', 'server-github'] }
export const HTTP_SERVER = { name: 'Docs', url: 'https://docs.example/mcp' }

export const add = (service: TestService, payload: object, url = '/api/servers') =>
  service.inject({ method: 'POST', url, headers: AUTHORISED, payload })

/** A service with one server of each kind: `github` and `docs`. */
export async function openWithServers(
  options: Parameters<typeof openTestService>[0] = {},
): Promise<TestService> {
  const service = await openTestService(options)
  expect((await add(service, SERVER)).statusCode).toBe(201)
  expect((await add(service, HTTP_SERVER, '/api/http-servers')).statusCode).toBe(201)
  return service
}
