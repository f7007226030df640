import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ServerView } from '../../src/servers/stdio/servers.schema.ts'
import { commandLine, listProcesses } from '../../src/supervisor/platform/linux/proc.ts'
import type { ProcessFacts } from '../../src/supervisor/platform/process-table.ts'
import { atEnd } from './lifetime.ts'
import { sweeper } from './marked-processes.ts'
import { launchReady } from './program.ts'
import { AUTHORISED } from './token.ts'

/** The built service as a separate process, with a client for its API. Its processes are ended after the test. */
export async function openService(options: Parameters<typeof launchReady>[0] = {}) {
  const launched = await launchReady(options)
  const mark = `TOOLROOM_CHILD=${readFileSync(join(launched.data, 'child-mark'), 'utf8').trim()}`
  atEnd(async () => void (await sweeper.sweep(mark)))
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { ...AUTHORISED, ...(body && { 'content-type': 'application/json' }) }
    const reply = await fetch(`${launched.address}/api${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const add = async (definition: object): Promise<ServerView> => {
    const { status, body } = await ask('POST', '/servers', definition)
    expect(status, JSON.stringify(body)).toBe(201)
    return body
  }
  const start = async (id: string): Promise<ServerView> => {
    const { status, body } = await ask('POST', `/servers/${id}/start?wait_s=120`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  const list = async (): Promise<ServerView[]> => (await ask('GET', '/servers')).body.items
  const until = async (matches: (servers: ServerView[]) => boolean, ms = 60_000): Promise<ServerView[]> => {
    for (const end = performance.now() + ms; ; await sleep(25)) {
      const servers = await list()
      if (matches(servers)) return servers
      if (performance.now() > end) expect.unreachable(`they stayed ${JSON.stringify(servers)}`)
    }
  }
  return { ...launched, mark, ask, add, start, list, until }
}

/** The reaper of the service with this mark. */
export const reaperOf = (mark: string): ProcessFacts | undefined =>
  listProcesses().find(({ pid, zombie }) => {
    const line = commandLine(pid)
    return !zombie && line.includes('toolroom-reaper') && line.some((word) => word.startsWith(mark))
  })
