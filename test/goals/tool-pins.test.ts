import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Facts } from '../../src/kernel/fact-bus.ts'
import type { Tool } from '../../src/kernel/tool-fields.ts'
import { changingServer } from '../support/changing-server.ts'
import { figure } from '../support/figure.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { Agent, newKey } from '../support/gateway.ts'
import { post } from '../support/running-servers.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

/** The script of the goal R27. */

/** Full run: one tool at a time. Short run: all tools at once, each in another field. */
const TOOLS = runs(16, 100) // more than there are kinds of changes
/** Between two lists of the agent. Without a pause it would take a CPU for itself. */
const LOOK_EVERY_MS = runs(10, 0)
const PATIENCE_MS = FULL ? 1_800_000 : 600_000

type Announcement = Facts['tools_changed']
type Definition = ReturnType<typeof definitionOf>

const definitionOf = (n: number) => ({
  name: `tool_${n}`,
  title: `Tool ${n}`,
  description: 'Reads a file and gives its text',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Which file' },
      options: { type: 'object', properties: { lines: { type: 'array', items: { maximum: 10 } } } },
    },
    required: ['path'],
  },
  outputSchema: { type: 'object', properties: { text: { type: 'string', description: 'Its text' } } },
  annotations: { readOnlyHint: true, title: 'Read' },
  icons: [{ src: 'https://icons.example/read.png', mimeType: 'image/png' }],
  _meta: { 'example.com/owner': 'team-a' },
  'x-unknown': { since: 0 } as unknown,
})

/** A tool of the fixture that never changes. */
const TELL = {
  name: 'tell',
  description: 'The tool tell',
  inputSchema: { type: 'object', properties: {}, required: [] },
} as unknown as Definition

interface Mutation {
  readonly label: string
  /** The path of the expected difference; null if nothing changed. */
  readonly field: string | null
  readonly of: (tool: Definition, n: number) => Definition
}

const described = (label: string, edit: (text: string, n: number) => string): Mutation => ({
  label,
  field: '/description',
  of: (tool, n) => ({ ...tool, description: edit(tool.description, n) }),
})
const swapped = (text: string, one: string, other: string) =>
  text.includes(one) ? text.replace(one, other) : text.replace(other, one)

/** Each returns a different definition every time, except the last. */
const MUTATIONS: readonly Mutation[] = [
  { label: 'title', field: '/title', of: (tool, n) => ({ ...tool, title: `Title ${n}` }) },
  described('a sentence', (text, n) => `${text}. Before that, call tool ${n}.`),
  described('one letter', (text) => swapped(text, 'file', 'file5')),
  described('a look-alike letter', (text) => swapped(text, 'gives', 'giv\u0435s')),
  described('whitespace', (text) => swapped(text, 'a file', 'a  file')),
  described('invisible characters', (text) => swapped(text, 'Reads', 'Reads\u200B\u{E0041}')),
  {
    label: 'a nested field of inputSchema',
    field: '/inputSchema/properties/options/properties/lines/items/maximum',
    of: (tool, n) => {
      const { inputSchema } = tool
      const options = { type: 'object', properties: { lines: { type: 'array', items: { maximum: 11 + n } } } }
      const properties = { ...inputSchema.properties, options }
      return { ...tool, inputSchema: { ...inputSchema, properties } }
    },
  },
  {
    label: 'required fields',
    field: '/inputSchema/required',
    of: (tool, n) => ({ ...tool, inputSchema: { ...tool.inputSchema, required: ['path', `more_${n}`] } }),
  },
  {
    label: 'outputSchema',
    field: '/outputSchema/properties/text/description',
    of: (tool, n) => {
      const text = { type: 'string', description: `Its text, ${n}` }
      return { ...tool, outputSchema: { type: 'object', properties: { text } } }
    },
  },
  {
    label: 'annotations',
    field: '/annotations/readOnlyHint',
    of: (tool) => {
      const readOnlyHint = !tool.annotations.readOnlyHint
      return { ...tool, annotations: { ...tool.annotations, readOnlyHint } }
    },
  },
  {
    label: '_meta',
    field: '/_meta/example.com~1owner',
    of: (tool, n) => ({ ...tool, _meta: { 'example.com/owner': `owner ${n}` } }),
  },
  {
    label: 'icons',
    field: '/icons/0/src',
    of: (tool, n) => ({ ...tool, icons: [{ src: `https://icons.example/${n}.png`, mimeType: 'image/png' }] }),
  },
  {
    label: 'an unknown field',
    field: '/x-unknown/since',
    of: (tool, n) => ({ ...tool, 'x-unknown': { since: n } }),
  },
  { label: 'the name', field: null, of: (tool, n) => ({ ...tool, name: `${tool.name.split('-')[0]}-${n}` }) },
  {
    label: 'the order of keys',
    field: null,
    of: (tool) => Object.fromEntries(Object.entries(tool).reverse()) as Definition,
  },
]

interface Step {
  readonly tools: Definition[]
  /** The changed field, by the name of the tool. */
  readonly fields: ReadonlyMap<string, string>
}

/** Every tool gets every mutation. */
function stepsFrom(first: Definition[]): Step[] {
  const steps: Step[] = []
  let tools = first
  let serial = 0
  const step = (mutationOf: (n: number) => Mutation | undefined) => {
    const fields = new Map<string, string>()
    tools = tools.map((tool, n) => {
      serial += 1
      const mutation = mutationOf(n)
      if (mutation?.field) fields.set(tool.name, mutation.field)
      return mutation?.of(tool, serial) ?? tool
    })
    steps.push({ tools, fields })
  }
  for (const round of MUTATIONS.keys()) {
    const at = (n: number) => MUTATIONS[(n + round) % MUTATIONS.length]
    if (FULL) for (const only of first.keys()) step((n) => (n === only ? at(n) : undefined))
    else step(at)
  }
  return steps
}

/** Announcements and tool lists, in the order in which one process receives them. */
async function watched(env: Record<string, string>, mayBeSeen: (hash: string) => boolean = () => true) {
  const service = await openTestService({ env })
  const announcements: Announcement[] = []
  /** Tools announced since the agent's last list. */
  const announced = new Set<string>()
  const socket = new WebSocket(`${service.address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (text) => {
    const { type, data } = JSON.parse(String(text))
    if (type !== 'tools_changed') return
    announcements.push(data)
    for (const name of [...data.added, ...data.changed]) announced.add(name)
  })
  await once(socket, 'open')
  const agent = await Agent.open(service, await newKey(service), 'modern')
  const seen = new Map<string, string>()
  const tooEarly: string[] = []
  let lists = 0
  const look = async () => {
    const { answers } = await agent.ask('tools/list')
    const { tools } = (answers[0]?.result ?? { tools: [] }) as { tools: Definition[] }
    lists += 1
    const now = new Map(tools.map((tool) => [tool.name.replace(/^changing__/, ''), hashOf(tool)]))
    for (const [name, hash] of now) {
      if (seen.get(name) === hash) continue
      if (!announced.delete(name) || !mayBeSeen(hash)) tooEarly.push(name)
      seen.set(name, hash)
    }
    return now
  }
  let stopped = false
  let latest = new Map<string, string>()
  const looking = (async () => {
    while (!stopped) {
      latest = await look()
      await sleep(LOOK_EVERY_MS)
    }
  })()
  const stop = () => {
    stopped = true
    return looking
  }
  onTestFinished(() => stop().catch(() => {})) // a failed test has reported its reason
  return { service, announcements, agent, tooEarly, latest: () => latest, lists: () => lists, stop }
}

/** A second implementation, so that it does not share a bug with the tested one. The gateway name is not part of the definition. */
function hashOf({ name, ...definition }: Definition): string {
  const inOrder = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value
  const own = { ...definition, name: name.replace(/^changing__/, '') }
  return createHash('sha256').update(JSON.stringify(own, inOrder)).digest('hex')
}

const hashesOf = (tools: readonly Definition[]) => new Map(tools.map((tool) => [tool.name, hashOf(tool)]))
describe(`${TOOLS} tools with changes in every field`, () => {
  const first = Array.from({ length: TOOLS }, (_, n) => definitionOf(n))
  const steps = stepsFrom(first)

  test('R27: an agent never sees a definition that was not announced before', {
    timeout: PATIENCE_MS,
  }, async () => {
    const watch = await watched({})
    const server = await started(watch, first)
    let before: readonly Definition[] = first
    for (const step of steps) {
      await take(step, before, server, watch)
      await sees(watch, step.tools)
      before = step.tools
    }
    await watch.stop()
    expect(watch.tooEarly).toEqual([])
    expect(watch.lists()).toBeGreaterThan(MUTATIONS.length)
    const changes = steps.reduce((sum, { fields }) => sum + fields.size, 0)
    const early = watch.tooEarly.length
    figure('R27', `of ${changes} changes in ${watch.lists()} lists, seen before they were announced`, early, {
      exactly: 0,
    })
  })

  test('R27: with HOLD_CHANGED_TOOLS an agent sees no change and no new name before it is approved', {
    timeout: PATIENCE_MS,
  }, async () => {
    const approved = new Set<string>()
    const approve = (tools: readonly Definition[]) => {
      for (const hash of hashesOf(tools).values()) approved.add(hash)
    }
    const watch = await watched({ HOLD_CHANGED_TOOLS: 'true' }, (hash) => approved.has(hash))
    approve([...first, TELL])
    const server = await started(watch, first)
    let before: readonly Definition[] = first
    let approvals = 0
    for (const step of steps.slice(0, FULL ? 3 * TOOLS : 3)) {
      const known = new Set(before.map(({ name }) => name))
      const isHeld = ({ name }: Definition) => step.fields.has(name) || !known.has(name)
      const open = step.tools.filter((tool) => !isHeld(tool))
      await take(step, before, server, watch)
      await sees(watch, open)
      const { items } = (await watch.service.inject('/api/servers/changing/tools')).json<{ items: Tool[] }>()
      const held = items.filter(({ state }) => state === 'held')
      const expected = step.tools.filter(isHeld).map(({ name }) => name)
      expect(held.map(({ name }) => name).sort()).toEqual(expected.sort())
      for (const { name, hash } of held.slice(0, 1)) {
        const { answers } = await watch.agent.call(`changing__${name}`)
        expect(answers[0]?.error?.message).toContain('is waiting for approval')
        expect(answers[0]?.error?.data?.code).toBe('tool_held')
        expect(step.tools.filter((tool) => hashOf(tool) === hash)).toHaveLength(1)
      }
      for (const { name, hash } of held) {
        approved.add(hash)
        const reply = await post(watch.service, `/api/servers/changing/tools/${name}/approve`, { hash })
        expect(reply.statusCode, reply.body).toBe(200)
        approvals += 1
      }
      await sees(watch, step.tools)
      before = step.tools
    }
    await watch.stop()
    expect(watch.tooEarly).toEqual([])
    const early = watch.tooEarly.length
    figure(
      'R27',
      `of ${approvals} held changes in ${watch.lists()} lists, seen before they were approved`,
      early,
      {
        exactly: 0,
      },
    )
  })
})

describe('12,000 invented names do not make Toolroom forget an approved definition', () => {
  test.each([
    ['with HOLD_CHANGED_TOOLS the change is held', 'true'],
    ['without it the change is reported', 'false'],
  ])('%s', { timeout: PATIENCE_MS }, async (_, hold) => {
    const service = await openTestService({ env: { HOLD_CHANGED_TOOLS: hold } })
    const tool = definitionOf(0)
    const server = changingServer([tool])
    await server.add(service)
    await post(service, '/api/servers/changing/start')
    const tools = async () =>
      (await service.inject('/api/servers/changing/tools')).json<{ items: Tool[] }>().items
    for (let round = 0; round < 3; round += 1) {
      const names = Array.from({ length: 4000 }, (_, n) => `invented_${round}_${n}`)
      const offered = names.map((name) => ({ name, inputSchema: {} }))
      await server.offer(service, offered)
      const last = async () => (await tools()).at(-1)?.name
      await expect.poll(last, { timeout: 60_000, interval: 200 }).toBe(names.at(-1))
      const states = new Set((await tools()).slice(1).map(({ state }) => state))
      expect(states).toEqual(new Set([hold === 'true' ? 'held' : 'ok']))
    }
    await server.offer(service, [{ ...tool, title: 'Another title' }])
    const words = [
      { op: 'removed', text: 'Tool' },
      { op: 'added', text: 'Another' },
    ]
    const url = '/api/logs?source=audit&search=changed'
    await expect
      .poll(async () => (await service.inject({ url, headers: AUTHORISED })).body, { timeout: 60_000 })
      .toContain(JSON.stringify(words).slice(1, -1))
    if (hold === 'true') expect((await tools()).at(-1)).toMatchObject({ name: 'tool_0', state: 'held' })
  })
})

test('R27: with HOLD_CHANGED_TOOLS an agent sees no change of a prompt or of the instructions before it is approved', {
  timeout: PATIENCE_MS,
}, async () => {
  const service = await openTestService({ env: { HOLD_CHANGED_TOOLS: 'true' } })
  const key = await newKey(service)
  /** Everything that an agent reads before it does anything, at both endpoints. */
  const seen = async () => {
    const texts: string[] = []
    for (const path of ['/mcp', '/mcp/changing']) {
      const agent = await Agent.open(service, key, 'modern', path)
      for (const method of ['server/discover', 'prompts/list'])
        texts.push(JSON.stringify((await agent.ask(method)).answers))
    }
    return texts.join()
  }
  const promptOf = (n: number) => ({
    name: `prompt_${n}`,
    title: `Prompt ${n}`,
    description: 'Reviews a change',
    arguments: [{ name: 'path', description: 'Which file', required: true }],
    icons: [{ src: 'https://icons.example/read.png' }],
    _meta: { 'example.com/owner': 'team-a' },
  })
  type Prompt = ReturnType<typeof promptOf>
  const EDITS: readonly ((prompt: Prompt, mark: string) => Readonly<Record<string, unknown>>)[] = [
    (prompt, mark) => ({ ...prompt, name: mark }),
    (prompt, mark) => ({ ...prompt, title: mark }),
    (prompt, mark) => ({ ...prompt, description: mark }),
    (prompt, mark) => ({ ...prompt, arguments: [{ ...prompt.arguments[0], description: mark }] }),
    (prompt, mark) => ({ ...prompt, arguments: [...prompt.arguments, { name: mark }] }),
    (prompt, mark) => ({ ...prompt, icons: [{ src: mark }] }),
    (prompt, mark) => ({ ...prompt, _meta: { 'example.com/owner': mark } }),
    (prompt, mark) => ({ ...prompt, 'x-unknown': mark }),
  ]
  const prompts = EDITS.map((_, n) => promptOf(n))
  const server = changingServer({ prompts, instructions: 'Be kind' })
  await server.add(service)
  await post(service, '/api/servers/changing/start')
  await expect.poll(seen).toContain('prompt_7')
  expect(await seen()).toContain('Be kind')
  const marks = EDITS.map((_, n) => `mark-${n}`)
  const edited = EDITS.map((edit, n) => edit(promptOf(n), marks[n] ?? ''))
  server.write({ prompts: edited, instructions: 'mark-instructions' })
  await post(service, '/api/servers/changing/restart')
  const listed = async () =>
    (await service.inject({ url: '/api/servers/changing/prompts', headers: AUTHORISED })).json<{
      items: { name: string; hash: string; state: string }[]
    }>().items
  await expect.poll(async () => (await listed()).map(({ state }) => state)).toEqual(EDITS.map(() => 'held'))
  expect(await seen()).not.toContain('mark-')
  for (const { name, hash } of await listed()) {
    const reply = await post(service, `/api/servers/changing/prompts/${name}/approve`, { hash })
    expect(reply.statusCode, reply.body).toBe(200)
  }
  expect(await seen()).not.toContain('mark-instructions')
  await post(service, '/api/servers/changing/instructions/approve')
  const after = await seen()
  for (const mark of [...marks, 'mark-instructions']) expect(after).toContain(mark)
})

type Watch = Awaited<ReturnType<typeof watched>>
type Server = ReturnType<typeof changingServer>

async function started(watch: Watch, tools: readonly Definition[]): Promise<Server> {
  const server = changingServer(tools)
  await server.add(watch.service)
  await post(watch.service, '/api/servers/changing/start')
  await sees(watch, tools)
  return server
}

/** The server changes its tools, and exactly that is announced, once. */
async function take(
  { tools, fields }: Step,
  before: readonly Definition[],
  server: Server,
  { service, announcements }: Watch,
): Promise<void> {
  const count = announcements.length
  await server.offer(service, tools)
  const isOther = tools.some((tool, n) => hashOf(tool) !== hashOf(before[n] ?? tool))
  if (!isOther) return
  await expect.poll(() => announcements.length).toBe(count + 1)
  expectAnnounced(announcements.at(-1), before, tools, fields)
}

const sees = ({ latest }: Watch, tools: readonly Definition[]) =>
  expect.poll(() => Object.fromEntries(latest())).toEqual(Object.fromEntries(hashesOf([...tools, TELL])))

/** Names exactly the changed tools, and the fields of as many as fit. */
function expectAnnounced(
  announced: Announcement | undefined,
  before: readonly Definition[],
  tools: readonly Definition[],
  fields: ReadonlyMap<string, string>,
): void {
  const [old, now] = [hashesOf(before), hashesOf(tools)]
  expect(announced?.added).toEqual([...now.keys()].filter((name) => !old.has(name)))
  expect(announced?.removed).toEqual([...old.keys()].filter((name) => !now.has(name)))
  expect([...(announced?.changed ?? [])].sort()).toEqual([...fields.keys()].sort())
  for (const { tool, field, words } of announced?.diffs ?? []) {
    expect(field, tool).toBe(fields.get(tool))
    expect(words.some(({ op }) => op !== 'same')).toBe(true)
  }
  expect(new Set(announced?.diffs.map(({ tool }) => tool)).size).toBe(Math.min(50, fields.size))
}
