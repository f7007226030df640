import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ask, briefly, expectBodies, JSON_TYPE, portOf, verdictOn } from './answers.ts'
import { covers } from './covers.ts'
import { sharedByTests } from './lifetime.ts'
import { rawAnswer } from './raw-http.ts'
import { NO_HTTP_SERVER, NO_SERVER, NOT_JSON } from './refused-bodies.ts'
import { AUTHORISED, openTestService, TOKEN } from './test-service.ts'
import { openWithServers, SERVER } from './with-servers.ts'

/** Tests of request bodies: media type, JSON, schema and size. */
export function bodyCases(): void {
  describe('request bodies', () => {
    /** No test leaves a server in it. */
    const empty = sharedByTests(() => openTestService())
    test('a body that is not JSON in UTF-8 gets 415', async () => {
      const service = await empty()
      const body = JSON.stringify(SERVER)
      for (const headers of [
        {},
        { 'Content-Type': '' },
        { 'Content-Type': 'nonsense' },
        { 'Content-Type': 'text/plain' },
        { 'Content-Type': 'text/json' },
        { 'Content-Type': 'application/json5' },
        { 'Content-Type': 'application/x-www-form-urlencoded' },
        { 'Content-Type': 'multipart/form-data; boundary=x' },
        { 'Content-Type': 'application/json; charset=utf-16' },
        { 'Content-Type': 'application/json; charset="latin1"' },
        { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
        { 'Content-Type': 'application/json', 'Content-Encoding': 'br' },
      ]) {
        const given = { 'X-SVC-Token': TOKEN, ...headers }
        const answer = await ask(service, 'POST', '/api/servers', given as Record<string, string>, body)
        expect
          .soft(briefly(answer.status, answer.body, 2), JSON.stringify(headers))
          .toEqual([415, 'unsupported_media_type'])
      }
      const zipped = { method: 'POST', url: '/api/servers', payload: gzipSync(body) } as const
      const gzip = { ...AUTHORISED, ...JSON_TYPE, 'content-encoding': 'gzip' }
      expect((await service.inject({ ...zipped, headers: gzip })).statusCode).toBe(415)
      expect((await service.inject('/api/servers')).json().total).toBe(0)
    })

    test.each([
      'application/json',
      'Application/JSON',
      'application/json;charset=UTF-8',
      'application/json; charset="utf8"',
    ])('a body sent as %s is accepted', async (type) => {
      const service = await empty()
      const headers = { ...AUTHORISED, 'content-type': type, 'content-encoding': 'identity' }
      const sent = { method: 'POST', url: '/api/servers', headers, payload: JSON.stringify(SERVER) } as const
      const added = await service.inject(sent)
      expect(added.statusCode).toBe(201)
      const { location = '' } = added.headers
      expect(
        (await service.inject({ method: 'DELETE', url: String(location), headers: AUTHORISED })).statusCode,
      ).toBe(204)
    })

    test('a body that is not JSON is malformed, and JSON that no field accepts is invalid', async () => {
      covers('open-error-shape', 'open-error-codes')
      const service = await empty()
      await expectBodies(service, 'POST', '/api/servers', NOT_JSON)
      expect((await service.inject('/api/servers')).json().total).toBe(0)
    })

    test('a body that is not a valid server is refused with the path of the field, and never coerced or truncated', async () => {
      covers('open-limits', 'open-payloads')
      const service = await empty()
      await expectBodies(service, 'POST', '/api/servers', NO_SERVER)
      await expectBodies(service, 'POST', '/api/http-servers', NO_HTTP_SERVER)
      expect((await service.inject('/api/servers')).json().total).toBe(0)
      expect((await service.inject('/api/http-servers')).json().total).toBe(0)
    })

    test('a body nested 100,000 levels deep is refused within 100 ms', async () => {
      const service = await empty()
      const headers = { ...AUTHORISED, ...JSON_TYPE }
      const sent = { method: 'POST', url: '/api/servers', headers, payload: '['.repeat(100_000) } as const
      const times: number[] = []
      for (let round = 0; round < 3; round += 1) {
        const startedAt = performance.now()
        expect(await verdictOn(service, sent)).toEqual([400, 'invalid_json'])
        times.push(performance.now() - startedAt)
      }
      expect(Math.min(...times)).toBeLessThan(100)
    })

    test.each([
      ['2 MB', { 'Content-Length': '2097152' }, 'x'.repeat(2_097_152)],
      ['a million keys', {}, `{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":1`).join()}}`],
      [
        '2 MB in chunks',
        { 'Transfer-Encoding': 'chunked' },
        `200000\r\n${'x'.repeat(2_097_152)}\r\n0\r\n\r\n`,
      ],
    ])('a body of %s is too large, and the connection is closed', async (_, length, body) => {
      const service = await empty()
      const size = { 'Content-Length': String(body.length), ...length }
      const lines = Object.entries({
        Host: `127.0.0.1:${portOf(service)}`,
        'X-SVC-Token': TOKEN,
        ...JSON_TYPE,
        ...size,
      })
        .filter(([name]) => name !== 'Content-Length' || !('Transfer-Encoding' in length))
        .map(([name, value]) => `${name}: ${value}\r\n`)
      // Sent without `Connection: close`: a complete read means that the service closed the connection.
      const bytes = `POST /api/servers HTTP/1.1\r\n${lines.join('')}\r\n${body}`
      const answer = await rawAnswer({ port: portOf(service) }, bytes)
      expect(briefly(answer.status, answer.body, 2)).toEqual([413, 'body_too_large'])
      expect(answer.header('connection')).toBe('close')
    })

    test('a body may be empty where every field is optional, and is invalid input where one field is needed', async () => {
      const service = await openWithServers()
      for (const headers of [AUTHORISED, { ...AUTHORISED, ...JSON_TYPE }]) {
        const verdict = (method: 'POST' | 'PATCH' | 'PUT', url: string) =>
          verdictOn(service, { method, url, headers })
        expect(await verdict('POST', '/api/agents/import')).toEqual([200, undefined])
        expect(await verdict('POST', '/api/agents/cursor/undo')).toEqual([409, 'nothing_to_undo'])
        expect(await verdict('PATCH', '/api/servers/github')).toEqual([422, 'invalid_input'])
        expect(await verdict('PUT', '/api/http-servers/docs')).toEqual([422, 'invalid_input'])
        expect(await verdict('POST', '/api/servers')).toEqual([400, 'invalid_json'])
      }
    })

    test('the body of a DELETE must be empty, with or without a content type', async () => {
      covers('open-success-statuses')
      const service = await openWithServers()
      const sent = { method: 'DELETE', headers: { ...AUTHORISED, ...JSON_TYPE } } as const
      await expectBodies(service, 'DELETE', '/api/servers/github', [
        ['an object', '{}', 422, 'invalid_input', ''],
      ])
      expect((await service.inject({ ...sent, url: '/api/servers/github' })).statusCode).toBe(204)
      expect((await service.inject({ ...sent, url: '/api/http-servers/docs' })).statusCode).toBe(204)
      expect((await service.inject({ ...sent, url: '/api/logs' })).statusCode).toBe(200)
    })
  })
}
