import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commandLine, processesMarked } from '../../src/supervisor/platform/linux/proc.ts'
import { covers } from '../support/covers.ts'
import { ownFolder } from '../support/folder.ts'
import { runs, some } from '../support/full-or-short.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { leftAfter, untilMarked } from '../support/marked-processes.ts'
import { stopwatch } from '../support/measuring.ts'
import {
  askDirectly,
  byNode,
  byNpx,
  byShell,
  call,
  DEAF_PROCESSES,
  deafByDeafShell,
  deafByNpx,
  deafByShell,
  openMarkedHouse,
  run,
} from '../support/real-servers.ts'
import { get, post, until } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'
import { openTestService, type TestService } from '../support/test-service.ts'
import { add } from '../support/with-servers.ts'

const onLinux = describe.runIf(process.platform === 'linux') // other systems cannot count the processes
const STOP_MS = 8000

describe('server-everything', () => {
  /** Through a service, and without one. */
  const both = sharedByTests(async () => {
    const service = await openTestService()
    const started = await run(service, { name: 'everything', ...byNode('everything') })
    return { service, started, ask: await askDirectly('everything') }
  })

  test('the tools of server-everything are listed unchanged, each with its size and its hash', async () => {
    covers('does-list-tools', 'servers-tools')
    const { service, ask, started } = await both()
    const { tool_count, tool_tokens } = started
    const { items, ...list } = (await service.inject('/api/servers/everything/tools')).json()
    const { tools } = JSON.parse(await ask('tools/list')) as { tools: Record<string, unknown>[] }

    expect(list).toMatchObject({ source: 'live', total: tools.length, truncated: false })
    expect(items).toEqual(
      tools.map(({ name, title, description, inputSchema, outputSchema, annotations }) => ({
        name,
        title,
        description,
        input_schema: inputSchema,
        output_schema: outputSchema ?? null,
        annotations,
        app_uri: null,
        tokens: Math.ceil(JSON.stringify([name, description, inputSchema]).length / 4),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        enabled: true,
        gateway_name: `everything__${name}`,
        state: 'ok',
        change: null,
      })),
    )
    expect(new Set(items.map(({ hash }: { hash: string }) => hash)).size).toBe(tools.length)
    expect(tool_count).toBe(tools.length)
    const sum = items.reduce((total: number, { tokens }: { tokens: number }) => total + tokens, 0)
    expect(tool_tokens).toBe(sum)

    const again = await post(service, '/api/servers/everything/restart')
    expect(again.statusCode, again.body).toBe(200)
    expect((await service.inject('/api/servers/everything/tools')).json().items).toEqual(items)
  })

  test('calls to server-everything through Toolroom return the same bytes as direct calls', async () => {
    const { service, ask } = await both()
    const gzip = { name: 'a.gz', data: 'data:text/plain;base64,aGVsbG8=', outputType: 'resource' }
    const calls: [tool: string, args: object, has: string][] = [
      ['echo', { message: 'hello' }, 'Echo: hello'],
      [
        'echo',
        { message: 'Grüße \u{1f680}\u2028\u0000 "quoted" \\ \ud800', constructor: 1 },
        'Grüße \u{1f680}\u2028\\u0000 \\"quoted',
      ],
      ['get-sum', { a: 0.1, b: 0.2 }, '0.30000000000000004'],
      ['get-structured-content', { location: 'Chicago' }, '"structuredContent":{'],
      ['get-tiny-image', {}, '"type":"image"'],
      ['get-annotated-message', { messageType: 'error', includeImage: true }, '"annotations":{"audience":'],
      ['get-resource-links', { count: 10 }, '"type":"resource_link"'],
      ['gzip-file-as-resource', gzip, '"blob":"H4sI'],
      ['trigger-long-running-operation', { duration: 0.1, steps: 2 }, 'completed'],
      ['get-sum', { a: 'one' }, '"isError":true'],
      ['get-structured-content', { location: 'Nowhere' }, '"isError":true'],
      ['simulate-research-query', { topic: 'tasks' }, '"isError":true'],
    ]
    for (const [tool, args, has] of calls) {
      const direct = await ask('tools/call', { name: tool, arguments: args })
      const reply = await call(service, 'everything', tool, args)
      expect(reply.statusCode, reply.body).toBe(200)
      expect(reply.headers['content-type']).toContain('application/json')
      expect(reply.rawPayload.toString('hex')).toBe(Buffer.from(direct).toString('hex'))
      expect(reply.body).toContain(has)
    }
  })
})

describe('server-filesystem', () => {
  test('server-filesystem writes and reads in its folder, and any other path is a result with isError', async () => {
    const service = await openTestService()
    const folder = ownFolder()
    const path = join(folder, 'notes.txt')
    await run(service, { name: 'files', ...byNode('filesystem', folder) })
    const written = await call(service, 'files', 'write_file', { path, content: 'Grüße\n' })
    expect(written.json()).toMatchObject({ content: [{ text: `Successfully wrote to ${path}` }] })
    expect(readFileSync(path, 'utf8')).toBe('Grüße\n')
    const read = await call(service, 'files', 'read_text_file', { path })
    expect(read.json()).toMatchObject({ structuredContent: { content: 'Grüße\n' } })

    const outside = join(service.home, 'notes.txt')
    const refused = await call(service, 'files', 'write_file', { path: outside, content: 'x' })
    expect(refused.statusCode).toBe(200)
    expect(refused.json()).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('outside allowed directories') }],
    })
    expect(existsSync(outside)).toBe(false)
  })

  test('server-filesystem with a missing folder does not start, and last_error has the reason', async () => {
    const service = await openTestService()
    await add(service, { name: 'files', ...byNode('filesystem', join(service.home, 'nowhere')) })
    const started = await post(service, '/api/servers/files/start')
    expect(started.json()).toMatchObject({ status: 502, code: 'server_start_failed' })
    expect((await get(service, 'files')).last_error).toEqual({
      code: 'file_not_found',
      message: expect.stringContaining('None of the specified directories are accessible'),
      hint: 'Check the paths in args and env, or set cwd to the folder they are relative to',
      action: { kind: 'edit_arguments' },
    })
  })

  test('server-filesystem without a folder runs but refuses every call, and its log names the reason', async () => {
    const service = await openTestService()
    expect(await run(service, { name: 'files', ...byNode('filesystem') })).toMatchObject({ last_error: null })
    const reply = await call(service, 'files', 'list_directory', { path: service.home })
    expect(reply.statusCode).toBe(200)
    expect(reply.json()).toMatchObject({ isError: true })
    const { last_exit } = (await post(service, '/api/servers/files/stop')).json()
    expect(last_exit.stderr_tail.join('\n')).toContain('At least one directory must be provided')
  })
})

describe('server-memory', () => {
  test('server-memory is started by a call, keeps its data, and becomes idle with its tools still listed', async () => {
    const service = await openTestService()
    const env = { MEMORY_FILE_PATH: join(service.home, 'memory.jsonl') }
    const onDemand = { start_mode: 'on_demand', idle_timeout_s: 1 }
    await add(service, { name: 'memory', ...byNode('memory'), env, ...onDemand })
    expect(await get(service, 'memory')).toMatchObject({ status: 'idle', pid: null, tool_count: null })

    const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes engines'] }]
    const created = await call(service, 'memory', 'create_entities', { entities })
    expect(created.json()).toMatchObject({ structuredContent: { entities } })
    const { pid } = await get(service, 'memory')
    const graph = await call(service, 'memory', 'read_graph')
    expect(graph.json()).toMatchObject({ structuredContent: { entities, relations: [] } })
    expect(await get(service, 'memory')).toMatchObject({ status: 'running', pid })

    expect(await until(service, 'memory', ({ status }) => status === 'idle')).toMatchObject({
      tool_count: 9,
      health: { level: 'healthy', summary: 'Asleep with 9 tools; a call wakes it' },
    })
    expect(() => process.kill(Number(pid), 0)).toThrow()
    expect((await service.inject('/api/servers/memory/tools')).json()).toMatchObject({
      source: 'cache',
      total: 9,
    })
    expect((await call(service, 'memory', 'read_graph')).body).toBe(graph.body)
    expect((await get(service, 'memory')).pid).not.toBe(pid)
  })
})

onLinux('ways to start server-everything', () => {
  const WAYS: [string, () => ReturnType<typeof byNode>, number][] = [
    ['by node', () => byNode('everything'), 1],
    ['by npx through a shell', () => byNpx('mcp-server-everything'), 3],
    ['by npx with the package name', () => byNpx('@modelcontextprotocol/server-everything'), 3],
    ['by a shell that waits for it', () => byShell(byNode('everything')), 2],
  ]
  test.each(some(WAYS, 2, 1))(
    'server-everything started %s accepts calls, exits when its input ends, and leaves no process',
    async (_, command, processes) => {
      const { service, mark } = await openMarkedHouse()
      const startedAt = performance.now()
      await run(service, { name: 'everything', ...command() })
      const startMs = Math.round(performance.now() - startedAt)
      expect(await untilMarked(mark, processes), linesOf(mark).join('\n')).toBe(processes)
      const reply = await call(service, 'everything', 'echo', { message: 'hi' })
      expect(reply.body).toBe('{"content":[{"type":"text","text":"Echo: hi"}]}')
      // It asks for roots a moment after its start, and does not exit while it waits for the answer.
      const roots = '/api/logs?server_id=everything&search=roots'
      await expect.poll(async () => (await service.inject(roots)).json().total).toBeGreaterThan(0)
      const stopMs = await stop(service, 'everything', mark)
      expect((await get(service, 'everything')).last_exit).toMatchObject({ code: 0, signal: null })
      console.log(`start ${startMs} ms, stop ${stopMs} ms`)
    },
  )
})

onLinux('a server that ignores signals', () => {
  test.each([
    ['a shell', deafByShell, DEAF_PROCESSES + 1],
    ['a shell that also ignores signals', deafByDeafShell, DEAF_PROCESSES + 1],
    ['npx', deafByNpx, DEAF_PROCESSES + 2],
  ])(
    'a server that ignores signals, started by %s, is gone after a stop with its three children in other sessions',
    async (_, command, processes) => {
      covers('does-start-stop')
      const { service, mark } = await openMarkedHouse()
      await run(service, { name: 'deaf', ...command() })
      // A child that was just forked has no environment of its own yet.
      expect(await untilMarked(mark, processes), linesOf(mark).join('\n')).toBe(processes)
      console.log(`stop ${await stop(service, 'deaf', mark)} ms`)
    },
  )
})

onLinux('kill -9 of Toolroom', () => {
  test('a killed service leaves no server that it started through npx or a shell', async () => {
    const ends: number[] = []
    for (let cycle = 0; cycle < runs(1, 3); cycle += 1) {
      const { child, mark, add: register, start } = await openService()
      await register({ name: 'everything', ...byNpx('mcp-server-everything') })
      await register({ name: 'deaf', ...deafByShell() })
      await Promise.all([start('everything'), start('deaf')])
      const processes = 3 + DEAF_PROCESSES + 1
      expect(await untilMarked(mark, processes), linesOf(mark).join('\n')).toBe(processes)
      const killedAt = performance.now()
      child.kill('SIGKILL')
      expect(await leftAfter(mark), linesOf(mark).join('\n')).toBe(0)
      ends.push(Math.round(performance.now() - killedAt))
    }
    console.log(`all processes had ended after ${ends.join(', ')} ms`)
  })
})

const linesOf = (mark: string) => processesMarked(mark).map(({ pid }) => commandLine(pid).join(' '))

/** Stops a server with the default timeouts. Returns how long it took. */
async function stop(service: TestService, id: string, mark: string): Promise<number> {
  const spent = stopwatch()
  expect((await post(service, `/api/servers/${id}/stop`)).json()).toMatchObject({
    status: 'stopped',
    pid: null,
  })
  const took = Math.round(spent())
  expect(linesOf(mark)).toEqual([])
  expect(took).toBeLessThan(STOP_MS)
  return took
}
