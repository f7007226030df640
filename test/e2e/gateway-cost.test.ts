import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../support/folder.ts'
import { AUTHORISED, TOKEN } from '../support/house.ts'

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const CALLS = 500
const WARM = 200
const MOST = 2
const TOP = 25
const TOOL = 'echo__echo'

/**
 * The cost of a call is counted, not timed: V8 reports how often each function ran, including those of Node. The baseline is
 * bare node:http that returns the result itself. TOOLROOM_TOP=1 prints the most frequent functions.
 */
test.each(['legacy', 'modern'] as const)(
  `a call of a %s agent runs at most ${MOST} times as many functions as a bare HTTP response`,
  async (era) => {
    const home = ownFolder()
    const floor = await counted(pathOf('bench/gateway/http-floor.mjs'), home)
    const toolroom = await counted(pathOf('dist/main.js'), home)
    const echo = { name: 'echo', command: process.execPath, args: [pathOf('bench/gateway/echo.mjs')] }
    const manage = { ...AUTHORISED, 'content-type': 'application/json' }
    await toolroom.post('/api/servers', manage, echo, 201)
    await toolroom.post('/api/servers/echo/start', AUTHORISED)
    const { key } = (await toolroom.post('/api/keys', manage, { agent_type: 'counter' }, 201)).body
    const { headers, meta } = await AGENTS[era](toolroom, String(key))

    const perCall = async (program: Program) => {
      const calls = async (count: number) => {
        for (let n = 0; n < count; n += 1) {
          const params = { name: TOOL, arguments: { text: `hello ${n}` }, ...meta }
          const { body } = await program.post('/mcp', headers, message('tools/call', params))
          expect(body.result).toMatchObject({ content: [{ type: 'text', text: `hello ${n}` }] })
        }
      }
      await calls(WARM)
      await program.counts()
      await calls(CALLS)
      return program.counts()
    }
    const [bare, ours] = [await perCall(floor), await perCall(toolroom)]
    if (process.env.TOOLROOM_TOP) printTop(ours, bare)
    expect(sum(bare)).toBeGreaterThan(100) // counting works
    expect(sum(ours) / sum(bare)).toBeLessThanOrEqual(MOST)
  },
)

/** The headers and `_meta` of every call of such an agent. */
const AGENTS = {
  async legacy(toolroom: Program, key: string) {
    const clientInfo = { name: 'test', version: '1' }
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const greeted = await toolroom.post('/mcp', headersOf(key), message('initialize', hello))
    const session = String(greeted.headers['mcp-session-id'])
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
    return { headers: { ...headersOf(key), ...headers }, meta: {} }
  },
  async modern(_toolroom: Program, key: string) {
    const meta = 'io.modelcontextprotocol'
    const _meta = { [`${meta}/protocolVersion`]: '2026-07-28', [`${meta}/clientCapabilities`]: {} }
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': TOOL,
    }
    return { headers: { ...headersOf(key), ...headers }, meta: { _meta } }
  },
}

const headersOf = (key: string) => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: `Bearer ${key}`,
})

interface Count {
  readonly url: string
  readonly name: string
  readonly at: number
  readonly count: number
}
type Program = Awaited<ReturnType<typeof counted>>

const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

const sum = (counts: readonly Count[]) => counts.reduce((all, { count }) => all + count, 0) / CALLS

/** A program whose function calls are counted. It prints its address when ready. */
async function counted(main: string, home: string) {
  const child = spawn(process.execPath, ['--require', pathOf('test/support/count-calls.cjs'), main], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, PORT: '0', AUTH_TOKEN: TOKEN, HTTP_CHECK_INTERVAL_S: '0' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(async () => {
    agent.destroy()
    const ended = once(child, 'close')
    child.kill('SIGTERM')
    await ended
  })
  const address = await addressOf(child)
  return {
    post: (path: string, headers: Readonly<Record<string, string>>, body?: object, status = 200) =>
      post(agent, `${address}${path}`, headers, body, status),
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

async function post(
  agent: Agent,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object | undefined,
  status: number,
) {
  const asked = request(url, { method: 'POST', agent, headers }).end(body && JSON.stringify(body))
  const [reply] = await once(asked, 'response')
  const text = (await reply.setEncoding('utf8').toArray()).join('')
  expect(reply.statusCode, text).toBe(status)
  return { headers: reply.headers, body: JSON.parse(text) }
}

/** Prints the functions that run more often for a gateway call than for a bare one. */
function printTop(ours: readonly Count[], bare: readonly Count[]): void {
  const keyOf = ({ url, name, at }: Count) => `${url} ${name} ${at}`
  const times = new Map(bare.map((each) => [keyOf(each), each.count]))
  const rows = ours
    .map((each) => ({ ...each, more: (each.count - (times.get(keyOf(each)) ?? 0)) / CALLS }))
    .sort((a, b) => b.more - a.more)
  console.log(`per call: ours ${sum(ours)}, bare ${sum(bare)}, ratio ${sum(ours) / sum(bare)}`)
  const top = Number(process.env.TOOLROOM_TOP)
  for (const row of rows.slice(0, Math.max(TOP, top)))
    console.log(
      `${row.more.toFixed(2).padStart(7)}  ${row.name || textAt(row)}  ${row.url.split('/').at(-1)}:${row.at}`,
    )
}

/** Anonymous functions are identified by their source text. */
function textAt({ url, at }: Count): string {
  if (!url.startsWith('file:')) return '(anonymous)'
  return readFileSync(fileURLToPath(url), 'utf8')
    .slice(at, at + 80)
    .replaceAll(/\s+/g, ' ')
}
