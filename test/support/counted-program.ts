import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { atEnd } from './lifetime.ts'
import { TOKEN } from './token.ts'

export const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** How often one function ran. */
export interface Count {
  readonly url: string
  readonly name: string
  readonly at: number
  readonly count: number
}

const MAX_SOCKETS = 64

export type Program = Awaited<ReturnType<typeof counted>>

/** A program whose function calls are counted. It prints its address when ready. */
export const counted = (main: string, home: string) =>
  measured(main, home, ['--require', pathOf('test/support/count-calls.cjs')])

/** A program whose garbage collections are reported. */
export const traced = (main: string, home: string) => measured(main, home, ['--trace-gc', '--trace-gc-nvp'])

async function measured(main: string, home: string, flags: readonly string[]) {
  const child = spawn(process.execPath, [...flags, main], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, PORT: '0', AUTH_TOKEN: TOKEN, HTTP_CHECK_INTERVAL_S: '0' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS })
  /** Agents have connections of their own. */
  const mcpAgent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS })
  atEnd(async () => {
    agent.destroy()
    mcpAgent.destroy()
    const ended = once(child, 'close')
    child.kill('SIGTERM')
    await ended
  })
  const address = await addressOf(child)
  let promoted = 0
  child.stdout?.on('data', (text: string) => {
    for (const [, bytes] of text.matchAll(/\bpromoted=(\d+)/g)) promoted += Number(bytes)
  })
  return {
    pid: child.pid ?? 0,
    get: (path: string) => send(agent, `${address}${path}`, 'GET', {}, undefined, 200),
    post: (path: string, headers: Readonly<Record<string, string>>, body?: object, status = 200) =>
      send(path.startsWith('/mcp') ? mcpAgent : agent, `${address}${path}`, 'POST', headers, body, status),
    put: (path: string, headers: Readonly<Record<string, string>>, body: object) =>
      send(agent, `${address}${path}`, 'PUT', headers, body, 200),
    /** Bytes that survived two collections of the young generation since the start. */
    promotedBytes: () => promoted,
    async counts(): Promise<Count[]> {
      const reply = once(child, 'message')
      child.send('counts')
      const [counts] = await reply
      return counts
    },
  }
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (more: string) => {
      text += more
      const found = /ready at (http:\S+)/.exec(text)?.[1]
      if (found) resolve(found)
    })
    child.once('close', () => reject(new Error(`the program ended after printing: ${text}`)))
  })
}

/** Thousands of calls: an assertion or a stream's iterator for each would take longer than the call. */
function send(
  agent: Agent,
  url: string,
  method: 'GET' | 'POST' | 'PUT',
  headers: Readonly<Record<string, string>>,
  body: object | undefined,
  status: number,
): Promise<ReturnType<typeof replyOf>> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, agent, headers }, (reply) => {
      let text = ''
      reply.setEncoding('utf8').on('data', (more: string) => {
        text += more
      })
      reply.on('error', reject).on('end', () => {
        if (reply.statusCode === status) resolve(replyOf(reply.headers, text))
        else reject(new Error(`${method} ${url} returned ${reply.statusCode}: ${text}`))
      })
    })
    asked.on('error', reject).end(body && JSON.stringify(body))
  })
}

const replyOf = (headers: IncomingHttpHeaders, text: string) => ({ headers, body: JSON.parse(text) })
