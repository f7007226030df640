import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Count, counted, type Program, pathOf, traced } from '../support/counted-program.ts'
import { ownFolder } from '../support/folder.ts'
import { runs } from '../support/full-or-short.ts'
import { AUTHORISED } from '../support/test-service.ts'

const CALLS = 300
const WARM = 200
const MOST = 1.2
const TOP = 25
/** What runs by the clock is not part of a call, and would count more on a busy machine. It is measured without calls. */
const IDLE_MS = 3000
const MANY = runs(3000, 5000)
const IN_FLIGHT = 64
const MOST_BYTES = 300
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
    const { headers, meta } = await agentOf(toolroom, era)

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
      const startedAt = performance.now()
      await calls(CALLS)
      return { program, counts: await program.counts(), tookMs: performance.now() - startedAt }
    }
    const calledOnly = async ({ program, counts, tookMs }: Awaited<ReturnType<typeof perCall>>) => {
      await program.counts()
      await sleep(IDLE_MS)
      return { counts, sum: sum(counts) - (sum(await program.counts()) * tookMs) / IDLE_MS }
    }
    const both = [await perCall(floor), await perCall(toolroom)] as const
    const [bare, ours] = await Promise.all([calledOnly(both[0]), calledOnly(both[1])])
    if (process.env.TOOLROOM_TOP) printTop(ours.counts, bare.counts)
    expect(bare.sum).toBeGreaterThan(100) // counting works
    expect(ours.sum / bare.sum).toBeLessThanOrEqual(MOST)
  },
)

/**
 * What a call allocates is garbage when it ends. Memory that survives the collections of the young generation is copied twice
 * and then waits for a full collection, although nothing uses it. A bare HTTP server has about 25 bytes per call.
 */
test.each(['legacy', 'modern'] as const)(
  `a call of a %s agent leaves at most ${MOST_BYTES} bytes for a full garbage collection`,
  async (era) => {
    const toolroom = await traced(pathOf('dist/main.js'), ownFolder())
    const { headers, meta } = await agentOf(toolroom, era)
    let id = 1
    const calls = async (count: number) => {
      const last = id + count
      const one = async () => {
        while (id < last) {
          id += 1
          const params = { name: TOOL, arguments: { text: 'hello' }, ...meta }
          await toolroom.post('/mcp', headers, { ...message('tools/call', params), id })
        }
      }
      await Promise.all(Array.from({ length: IN_FLIGHT }, one))
    }
    await calls(MANY)
    const before = toolroom.promotedBytes()
    expect(before).toBeGreaterThan(0) // collections are reported
    await calls(MANY)
    expect((toolroom.promotedBytes() - before) / MANY).toBeLessThanOrEqual(MOST_BYTES)
  },
)

/** Registers and starts the server, and connects an agent: the headers and `_meta` of all its calls. */
async function agentOf(toolroom: Program, era: keyof typeof AGENTS) {
  const echo = { name: 'echo', command: process.execPath, args: [pathOf('bench/gateway/echo.mjs')] }
  const manage = { ...AUTHORISED, 'content-type': 'application/json' }
  await toolroom.post('/api/servers', manage, echo, 201)
  await toolroom.post('/api/servers/echo/start', AUTHORISED)
  const { key } = (await toolroom.post('/api/keys', manage, { agent_type: 'counter' }, 201)).body
  return AGENTS[era](toolroom, String(key))
}

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

const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

const sum = (counts: readonly Count[]) => counts.reduce((all, { count }) => all + count, 0) / CALLS

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
