import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import type { ToolList } from '../../src/mcp/client/server-lists.ts'
import { HttpMcpClient, type HttpMcpClientOptions } from '../../src/mcp/transports/http/http-mcp-client.ts'
import { closedPort } from '../fixtures/http/sites.ts'

/** A connection that is closed after the test, and its events. */
export function remoteTo(url: string, own: Partial<HttpMcpClientOptions> = {}) {
  const lists: ToolList[] = []
  const lost: string[] = []
  const connection = new HttpMcpClient({
    url,
    headers: {},
    transport: 'auto',
    version: '0',
    onTools: (list) => lists.push(list),
    onLost: (reason) => lost.push(reason),
    ...own,
  })
  onTestFinished(() => connection.close())
  const names = () => lists.at(-1)?.tools.map(({ name }) => name)
  return { connection, lists, lost, names }
}

/** The same, after the handshake and the tool list. */
export async function connectedTo(url: string, own: Partial<HttpMcpClientOptions> = {}) {
  const remote = remoteTo(url, own)
  await remote.connection.connect(60_000)
  return remote
}

export const textOf = ({ value }: { value: unknown }) =>
  (value as { content: { text: string }[] }).content[0]?.text

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Starts a server from node_modules as a process that listens on the given port. */
export async function startRemote(
  file: string,
  args: (port: number) => readonly string[],
  env: Record<string, string> = {},
) {
  const port = await closedPort()
  const child = spawn(process.execPath, [`${root}node_modules/${file}`, ...args(port)], {
    env: { PATH: process.env.PATH, PORT: String(port), ...env },
    stdio: 'ignore',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const origin = `http://127.0.0.1:${port}`
  for (const end = performance.now() + 60_000; ; await sleep(50)) {
    const answers = await fetch(origin).then(
      () => true,
      () => false,
    )
    if (answers) return { origin, child }
    if (performance.now() > end || child.exitCode !== null) expect.unreachable(`${file} is not listening`)
  }
}

export const startEverything = (mode: 'streamableHttp' | 'sse') =>
  startRemote('@modelcontextprotocol/server-everything/dist/index.js', () => [mode])
