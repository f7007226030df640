import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { ServerView } from '../../src/servers/stdio/servers.schema.ts'
import { AUTHORISED, type TestService } from './test-service.ts'
import { add } from './with-servers.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/servers/${name}.mjs`, import.meta.url))

/** The definition of a fixture server that a test starts itself, with short timeouts. */
export const definition = (kind: string, args: readonly string[] = [], more: object = {}) => ({
  name: kind,
  command: process.execPath,
  args: [fixture(kind), ...args],
  start_mode: 'manual' as const,
  timeouts: { start_s: 60, stop_s: 1 },
  ...more,
})

/** Registers a fixture server with the id `name`. */
export async function register(
  service: TestService,
  kind: string,
  args: readonly string[] = [],
  more: object = {},
) {
  const reply = await add(service, definition(kind, args, more))
  expect(reply.statusCode, reply.body).toBe(201)
  return reply.json<ServerView>()
}

export const post = (service: TestService, url: string, payload: object | undefined = undefined) =>
  service.inject({ method: 'POST', url, headers: AUTHORISED, ...(payload && { payload }) })

export const get = async (service: TestService, id: string) =>
  (await service.inject(`/api/servers/${id}`)).json<ServerView>()

/** Polls a server until it matches, or fails with its last state. */
export async function until(
  service: TestService,
  id: string,
  matches: (server: ServerView) => boolean,
  ms = 60_000,
): Promise<ServerView> {
  const end = performance.now() + ms
  for (;;) {
    const server = await get(service, id)
    if (matches(server)) return server
    if (performance.now() > end) expect.unreachable(`it stayed ${JSON.stringify(server)}`)
    await sleep(20)
  }
}
