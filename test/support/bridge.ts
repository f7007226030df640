import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import type { NewKey } from '../../src/gateway/keys/keys.schema.ts'
import { post } from './running-servers.ts'
import type { TestService } from './test-service.ts'

export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const META = 'io.modelcontextprotocol'

interface Options {
  readonly env: Readonly<Record<string, string>>
  readonly argv?: readonly string[]
}

export interface Line {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string }
}

/** `toolroom connect` as an agent starts it, with a line-based client. Ended at the latest with the test. */
export function openBridge({ env, argv = [] }: Options) {
  const child = spawn(process.execPath, [MAIN, 'connect', ...argv], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  const lines = (): Line[] =>
    output.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const write = (text: string) => void child.stdin.write(`${text}\n`)
  const say = (message: object) => write(JSON.stringify({ jsonrpc: '2.0', ...message }))
  const until = async (matches: (line: Line) => boolean, ms = 60_000): Promise<Line> => {
    await expect.poll(() => lines().some(matches), { timeout: ms }).toBe(true)
    return lines().find(matches) ?? expect.unreachable()
  }
  const ask = async (id: string | number, method: string, params: object = {}): Promise<Line> => {
    say({ id, method, params })
    return until((line) => line.id === id && line.method === undefined)
  }
  /** A modern request, without a session. */
  const modern = (params: object = {}) => ({
    ...params,
    _meta: { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: {} },
  })
  const greet = async (id: string | number = 'hello'): Promise<Line> => {
    const clientInfo = { name: 'test', version: '1' }
    const answer = await ask(id, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo,
    })
    say({ method: 'notifications/initialized' })
    return answer
  }
  return { child, output, ended, lines, write, say, until, ask, modern, greet }
}

/** The environment with which a bridge finds this service through its data folder. */
export async function bridgeEnv(service: TestService): Promise<Record<string, string>> {
  return { TOOLROOM_HOME: service.data, TOOLROOM_KEY: (await keyFor(service)).key }
}

export const keyFor = async (service: TestService): Promise<NewKey> =>
  (await post(service, '/api/keys', { agent_type: 'claude-desktop' })).json<NewKey>()

interface Seen {
  readonly method: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly status: number | undefined
}

/** A proxy in front of the service that records the requests. */
export async function openWitness(address: string) {
  const seen: Seen[] = []
  const { hostname, port, host } = new URL(address)
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const passed = request({ hostname, port, method, path: url, headers: { ...headers, host } }, (answer) => {
      seen.push({ method, headers, status: answer.statusCode })
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
