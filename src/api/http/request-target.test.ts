import { expect, test } from 'vitest'
import { ask, briefly } from '../../../test/support/answers.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'

const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const H2C = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' }

test('a request target with # is 400 on every door, before the token or the path decides (safety rule S1)', async () => {
  const service = await openTestService()
  const paths = [
    '/api/agents',
    '/api/servers/x',
    '/api/nowhere',
    '/mcp',
    '/mcp/x',
    '/docs',
    '/',
    '/api/ws/metrics',
  ]
  for (const path of paths) {
    for (const target of [
      `${path}#`,
      `${path}#?project_path=/etc`,
      `${path}?scope=user#&project_path=/etc`,
    ]) {
      for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS']) {
        for (const headers of [{}, AUTHORISED, { Authorization: 'Bearer x' }]) {
          const { status } = await ask(service, method, target, headers)
          expect.soft([method, target, status]).toEqual([method, target, 400])
        }
      }
    }
    for (const headers of [UPGRADE, H2C]) {
      const { status, body } = await ask(service, 'GET', `${path}#x`, headers)
      expect.soft(briefly(status, body, 2), path).toEqual([400, 'bad_request'])
    }
  }
})

test('a project is read only with the token, however the request spells its query (safety rule S2)', async () => {
  const service = await openTestService()
  const project = encodeURIComponent(ownFolder())
  const spellings = [
    `?project_path=${project}`,
    `?project%5Fpath=${project}`,
    `?scope=project&project_path=${project}`,
    `?&project_path=${project}`,
    `?project_path=&project_path=${project}`,
    `?#project_path=${project}`,
    `#project_path=${project}`,
    `#?project_path=${project}`,
    `?scope=project#&project_path=${project}`,
    `;project_path=${project}`,
    `??project_path=${project}`,
  ]
  for (const query of spellings) {
    for (const path of ['/api/agents/claude-code', '/api/agents/claude-code/http-servers']) {
      const { status } = await ask(service, 'GET', path + query)
      expect.soft([path + query, [400, 401, 404, 422].includes(status)]).toEqual([path + query, true])
    }
  }
})
