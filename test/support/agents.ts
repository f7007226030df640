import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import type { ChangeReport } from '../../src/agents/edit/edit.schema.ts'
import type { AgentView } from '../../src/agents/read/agents.schema.ts'
import { AUTHORISED, type TestService } from './test-service.ts'

const IS_WINDOWS = process.platform === 'win32'

/** The files of agents that have another place on Windows, below the test's home directory. */
export const GOOSE = IS_WINDOWS ? 'config/Block/goose/config/config.yaml' : 'config/goose/config.yaml'
export const OPENCODE = `${IS_WINDOWS ? '.config' : 'config'}/opencode/opencode.jsonc`
export const DESKTOP = `${IS_WINDOWS ? 'config' : '.config'}/Claude/claude_desktop_config.json`

/** Writes a file below the test's home directory and creates its folders. */
export function put(home: string, path: string, text: string): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

export const textOf = (home: string, path: string): string => readFileSync(join(home, path), 'utf8')

/** One request to the agents API. */
export async function agents<T = ChangeReport>(
  service: TestService,
  method: 'GET' | 'PUT' | 'POST' | 'DELETE',
  path: string,
  payload?: object,
) {
  const reply = await service.inject({
    method,
    url: `/api/agents${path}`,
    headers: AUTHORISED,
    ...(payload && { payload }),
  })
  return { status: reply.statusCode, body: reply.json<T>() }
}

/** The same, expecting 200. */
export async function done<T = ChangeReport>(...args: Parameters<typeof agents>): Promise<T> {
  const { status, body } = await agents<T>(...args)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

export const agentView = (service: TestService, type: string) => done<AgentView>(service, 'GET', `/${type}`)
