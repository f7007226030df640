import type { AddressInfo } from 'node:net'
import type { InjectOptions } from 'fastify'
import { expect } from 'vitest'
import { type RawAnswer, rawAnswer, requestBytes } from './raw-http.ts'
import { AUTHORISED, type TestService } from './test-service.ts'

/** The request, and the response as `[status]`, `[status, code]` or `[status, code, path of the first field error]`. */
export type Row = readonly [label: string, sent: string | Buffer, ...answer: (string | number)[]]

export const JSON_TYPE = { 'content-type': 'application/json' }

export const portOf = ({ fastify }: TestService): number => (fastify.server.address() as AddressInfo).port

/** Sends the body of every row with the token. All rows are checked, even after a failure. */
export async function expectBodies(
  service: TestService,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  rows: readonly Row[],
): Promise<void> {
  for (const [label, payload, ...answer] of rows) {
    const reply = await service.inject({ method, url, headers: { ...AUTHORISED, ...JSON_TYPE }, payload })
    expect
      .soft(briefly(reply.statusCode, reply.body, answer.length), `${method} ${url}: ${label}`)
      .toEqual(answer)
  }
}

/** Reads the path of every row without a token, over a raw connection that does not normalise the path. */
export async function expectReads(service: TestService, rows: readonly Row[]): Promise<void> {
  for (const [label, path, ...answer] of rows) {
    const { status, body } = await ask(service, 'GET', String(path))
    expect.soft(briefly(status, body, answer.length), `GET ${path}: ${label}`).toEqual(answer)
  }
}

/** A request over its own connection, with a valid Host. */
export function ask(
  service: TestService,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): Promise<RawAnswer> {
  const given = Object.entries({ Host: `127.0.0.1:${portOf(service)}`, ...headers })
  return rawAnswer({ port: portOf(service) }, requestBytes(method, path, given, body))
}

/** `[status, code]` of an injected request. */
export async function verdictOn(service: TestService, request: InjectOptions): Promise<(string | number)[]> {
  const { statusCode, body } = await service.inject(request)
  return briefly(statusCode, body, 2)
}

export function briefly(status: number, body: string, length: number): (string | number)[] {
  const { code, errors } = body.startsWith('{') ? JSON.parse(body) : { code: undefined, errors: undefined }
  return [status, code, errors?.[0]?.path].slice(0, length)
}
