import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openDualEra } from '../fixtures/http/dual-era.ts'
import { type Count, counted, type Program, pathOf } from '../support/counted-program.ts'
import { ownFolder } from '../support/folder.ts'
import { AUTHORISED } from '../support/test-service.ts'

const WARM = 20
const CALLS = 10
/** Work in the background, such as the redaction of kept payloads, does not run in all rounds. */
const ROUNDS = 10
/** Longer than the work that a call or a change leaves for later: payloads, watching its file, the users of servers. */
const SETTLED_MS = 500
const MANAGE = { ...AUTHORISED, 'content-type': 'application/json' }

/**
 * Every file with a function that ran for each call, by V8's counts: with the listener in front of the gateway, the
 * helpers, and the subscribers of events.
 */
async function filesOf(toolroom: Program, tool: string): Promise<string[]> {
  const { key } = (await toolroom.post('/api/keys', MANAGE, { agent_type: 'reader' }, 201)).body
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${key}`,
  }
  let id = 0
  const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: ++id, method, params })
  const clientInfo = { name: 'test', version: '1' }
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const greeted = await toolroom.post('/mcp', headers, message('initialize', hello))
  const session = { ...headers, 'mcp-session-id': String(greeted.headers['mcp-session-id']) }
  const call = async () => {
    const params = { name: tool, arguments: { text: 'hello' } }
    const { body } = await toolroom.post('/mcp', session, message('tools/call', params))
    expect(body.result).toMatchObject({ content: [{ type: 'text', text: 'hello' }] })
  }
  for (let n = 0; n < WARM; n += 1) await call()
  await Promise.all(Array.from({ length: CALLS }, call)) // opens the connections
  // All at once: what the calls leave for later comes after them, also on a slow machine.
  const calls = () => Promise.all(Array.from({ length: CALLS }, call))
  return filesRunBy(toolroom, CALLS, calls, () => Promise.resolve())
}

/** The files that run in each round, and as often as `atLeast`. `prepare` is not counted. */
async function filesRunBy(
  toolroom: Program,
  atLeast: number,
  work: () => Promise<unknown>,
  prepare: () => Promise<unknown>,
): Promise<string[]> {
  const rounds: Set<string>[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await prepare()
    await sleep(SETTLED_MS)
    await toolroom.counts()
    await work()
    // `get` is how one chunk of the bundle reads a constant of another: no code of that file runs.
    const often = (await toolroom.counts()).filter(({ name, count }) => name !== 'get' && count >= atLeast)
    rounds.push(new Set(often.flatMap(sourceOf)))
  }
  const [first, ...others] = rounds
  const files = [...(first ?? [])].filter((file) => others.every((round) => round.has(file))).sort()
  if (process.env.TOOLROOM_FILES) console.log(`${files.length} files\n${files.join('\n')}`)
  return files
}

const maps = new Map<string, { readonly text: string; readonly map: SourceMap } | undefined>()

const sources = new Map<string, string[]>()

/** The source file of a function of ours, below src/. */
function sourceOf(count: Count): string[] {
  const key = `${count.url} ${count.at}`
  const known = sources.get(key) ?? findSource(count)
  sources.set(key, known)
  return known
}

function findSource({ url, at }: Count): string[] {
  if (!url.startsWith('file:')) return []
  const file = fileURLToPath(url)
  if (!maps.has(file)) {
    const map = `${file}.map`
    maps.set(
      file,
      existsSync(map)
        ? { text: readFileSync(file, 'utf8'), map: new SourceMap(JSON.parse(readFileSync(map, 'utf8'))) }
        : undefined,
    )
  }
  const found = maps.get(file)
  if (!found) return []
  const before = found.text.slice(0, at)
  const line = before.split('\n').length - 1
  const entry = found.map.findEntry(line, at - before.lastIndexOf('\n') - 1)
  const source = 'originalSource' in entry ? entry.originalSource : ''
  const name = /\/src\/(.+\.ts)$/.exec(source)?.[1]
  return name === undefined || source.includes('node_modules') ? [] : [name]
}

test('an agent’s call to a STDIO server runs through at most 38 files', async () => {
  const toolroom = await counted(pathOf('dist/main.js'), ownFolder())
  const echo = { name: 'echo', command: process.execPath, args: [pathOf('bench/gateway/echo.mjs')] }
  await toolroom.post('/api/servers', MANAGE, echo, 201)
  await toolroom.post('/api/servers/echo/start', AUTHORISED)
  const files = await filesOf(toolroom, 'echo__echo')
  expect(files).toContain('servers/stdio/stdio-upstream.ts')
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(38)
})

test('an agent’s call to an HTTP server runs through at most 43 files', async () => {
  const server = await openDualEra()
  onTestFinished(() => void server.close())
  const toolroom = await counted(pathOf('dist/main.js'), ownFolder())
  await toolroom.post('/api/http-servers', MANAGE, { name: 'far', url: server.url }, 201)
  const first = { arguments: { text: 'first' } }
  await toolroom.post('/api/http-servers/far/tools/echo/call', MANAGE, first)
  const files = await filesOf(toolroom, 'far__echo')
  expect(files).toContain('servers/http/http-upstream.ts')
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(43)
})

test('a change of an agent’s servers runs through at most 86 files', async () => {
  const toolroom = await counted(pathOf('dist/main.js'), ownFolder())
  const put = (name: string) => {
    const input = { servers: { [name]: { command: name } }, mode: 'replace', create: true }
    return toolroom.put('/api/agents/cursor/servers', MANAGE, input)
  }
  const change = async () => {
    const { body } = await put('b')
    expect(body).toMatchObject({ added: ['b'], removed: ['a'], changed: true })
  }
  const files = await filesRunBy(toolroom, 1, change, () => put('a'))
  expect(files).toContain('agents/edit/file-writer.ts')
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(86)
})
