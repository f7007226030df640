import { Agent as Connections, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { FULL, runs, some } from '../support/full-or-short.ts'
import { META, newKey } from '../support/gateway.ts'
import { HEAVY, HEAVY_KINDS, type Heavy, placesIn } from '../support/heavy-json.ts'
import { heldMemory, MEASURED } from '../support/held-memory.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const MIB = 1024 * 1024
/** Of each heavy message, and how many of them are sent. */
const BYTES = runs(0.25, 4) * MIB
const COPIES = runs(3, 40)
/** Memory that is kept for each byte that was received. */
const MOST_PER_BYTE = 4
/** What a session, a pending request and the like take beside their texts, and how exactly memory is measured. */
const MOST_BESIDE_MIB = 5
const REFUSALS = [-32600, -32602, -32603, -31429]

/** Every message of which something is kept, for as long as a session, a subscription or a request lasts. */
const LEGACY = [
  {
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { sampling: {}, elicitation: { form: {} }, extensions: { ui: { mimeTypes: ['a'] } } },
      clientInfo: { name: 'a', version: '1', icons: [{ src: 'a' }] },
    },
  },
  { method: 'resources/subscribe', params: { uri: 'verbatim:///one' } },
  { method: 'resources/unsubscribe', params: { uri: 'verbatim:///one' } },
  { method: 'resources/read', params: { uri: 'verbatim:///one' } },
  { method: 'logging/setLevel', params: { level: 'info' } },
  { method: 'prompts/get', params: { name: 'verbatim__ask', arguments: { a: 'a' } } },
  { method: 'tools/list', params: { cursor: '' } },
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'verbatim__ask' }, argument: { name: 'a', value: 'a' } },
  },
  {
    method: 'tools/call',
    params: { name: 'verbatim__echo', arguments: { a: ['a'] }, _meta: { progressToken: 'a' } },
  },
  { method: 'notifications/cancelled', params: { requestId: 'a', reason: 'a' } },
  { method: 'notifications/roots/list_changed', params: {} },
]
const MODERN = [
  { method: 'tools/call', params: { name: 'verbatim__echo', arguments: { a: 'a' }, _meta: META } },
  {
    method: 'subscriptions/listen',
    params: {
      notifications: { toolsListChanged: true, resourceSubscriptions: ['verbatim:///one'], taskIds: ['a'] },
      _meta: META,
    },
  },
]

describe.runIf(process.platform === 'linux')('what is kept for agents', () => {
  const open = sharedByTests(openWithServer)
  test(`R34: of messages in which any one member is heavy, at most ${MOST_PER_BYTE} bytes are kept for each byte, and what is refused gets an MCP error`, {
    timeout: 600_000,
  }, async () => {
    const service = await open()
    const agent = await openAgent(service)
    let [received, before, cases] = [0, await settledMemory(service), 0]
    const most = { perByte: 0, besideMib: 0 }
    const messages = [
      ...LEGACY.map((each) => ({ message: each, isModern: false })),
      ...MODERN.map((each) => ({ message: each, isModern: true })),
    ]
    for (const [n, { message, isModern }] of messages.entries()) {
      const id = message.method.startsWith('notifications/') ? {} : { id: 'a' }
      const places = placesIn({ jsonrpc: '2.0', ...id, ...message })
      for (const [at, { path, put }] of some(places, 4, cases % 4).entries()) {
        if (path === 'jsonrpc' || path.startsWith('params._meta.io')) continue
        for (const kind of FULL ? HEAVY_KINDS : [HEAVY_KINDS[(at + cases) % HEAVY_KINDS.length]]) {
          if (!kind) continue
          cases += 1
          const body = put(heavyText(kind))
          const send = isModern ? () => agent.sendModern(message.method, body) : () => agent.send(body)
          const replies = await Promise.all(Array.from({ length: COPIES }, send))
          received += COPIES * body.length
          for (const reply of replies) expectAnswered(reply, `${message.method} with ${kind} in ${path}`)
        }
      }
      if ((n + 1) % runs(messages.length, 1) > 0) continue // the short form measures all of them together
      const after = await settledMemory(service) // with the sessions that were opened
      await agent.endOthers()
      const grownMib = after.heldMb - before.heldMb
      most.besideMib = Math.max(most.besideMib, grownMib)
      most.perByte = Math.max(most.perByte, ((grownMib - MOST_BESIDE_MIB) * MIB) / received)
      received = 0
      before = await settledMemory(service)
    }
    figure('R34', 'memory kept per byte, of any message', Math.max(0, most.perByte), { most: MOST_PER_BYTE })
    figure('R34', 'most that any message left behind, MB', most.besideMib, { most: MOST_BESIDE_MIB })
  })

  test('R34: one key cannot fill the memory with pending requests, sessions or subscriptions, and other keys are served meanwhile', {
    timeout: 600_000,
  }, async () => {
    const service = await open()
    const agent = await openAgent(service)
    const other = await openAgent(service)
    const before = await settledMemory(service)
    const large = `"${'x'.repeat(9 * MIB)}"`
    const pending = Array.from({ length: runs(12, 40) }, (_, id) =>
      agent.send(call('verbatim__wait', `{"a":${large}}`, id)),
    )
    const refused = await Promise.race(pending)
    expect(refused).toMatchObject({ status: 429, error: { code: -31429, data: { code: 'too_much_kept' } } })
    expect(refused.error?.message).toContain('at most 64 MiB for this gateway key')
    for (const heavy of ['"uri":"verbatim:///%"', '"capabilities":{"a":"%"}', '"clientInfo":{"name":"%"}']) {
      const method = heavy.startsWith('"uri') ? 'resources/subscribe' : 'initialize'
      const params = heavy.replace('%', () => 'x'.repeat(runs(0.25, 7) * MIB))
      const tried = Array.from({ length: runs(8, 60) }, (_, n) =>
        agent.send(`{"jsonrpc":"2.0","id":"h${n}","method":"${method}","params":{${params}}}`),
      )
      for (const { error } of await Promise.all(tried)) expect([-32602, -31429]).toContain(error?.code)
    }
    const profile = JSON.stringify({ a: 'x'.repeat(60 * 1024) })
    for (let n = 0; n < runs(30, 200); n += 1)
      await agent.send(
        `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":${profile}}}`,
      )
    const uri = (n: number) => `verbatim:///${n}${'x'.repeat(7000)}`
    for (let n = 0; n < runs(100, 1500); n += 1)
      await agent.send(
        JSON.stringify({
          jsonrpc: '2.0',
          id: `s${n}`,
          method: 'resources/subscribe',
          params: { uri: uri(n) },
        }),
      )
    const held = await settledMemory(service)
    figure('R34', 'memory that one key can fill, MB', held.heldMb - before.heldMb, { most: 80 })
    expect((await other.send(call('verbatim__echo', '{}', 1))).status).toBe(200)
    await agent.end()
    await Promise.all(pending)
    expect((await other.send(call('verbatim__echo', '{}', 2))).status).toBe(200)
    const { heldMb } = await settledMemory(service)
    figure('R34', 'of that after the session has ended, MB', heldMb - before.heldMb, { most: runs(12, 60) })
  })
})

/** Some memory is released a moment after the collection that finds it unused. */
async function settledMemory(service: Parameters<typeof heldMemory>[0]) {
  let held = await heldMemory(service)
  for (let n = 0; n < 3; n += 1) {
    await sleep(30)
    const next = await heldMemory(service)
    if (next.heldMb < held.heldMb) held = next
  }
  return held
}

const texts = new Map<Heavy, string>()
function heavyText(kind: Heavy): string {
  const text = texts.get(kind) ?? HEAVY[kind](BYTES)
  texts.set(kind, text)
  return text
}

const call = (name: string, args: string, id: number) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`

interface Answer {
  readonly status: number
  readonly session: string | undefined
  readonly error: { readonly code: number; readonly message: string; readonly data?: object } | undefined
}

function expectAnswered({ status, error }: Answer, what: string): void {
  expect([200, 202, 400, 404, 413, 429], what).toContain(status)
  if (error) expect(REFUSALS, `${what}: ${error.message}`).toContain(error.code)
  expect(error?.message.length ?? 0, what).toBeLessThan(400)
}

async function openWithServer() {
  const service = await openService({ env: { ...MEASURED, CALL_PAYLOADS: 'off' } })
  await service.add(definition('verbatim'))
  await service.start('verbatim')
  return service
}

/** A legacy agent, whose key also sends modern requests. Only the heads of responses are kept. */
async function openAgent(service: Awaited<ReturnType<typeof openService>>) {
  const url = `${service.address}/mcp`
  const connections = new Connections({ keepAlive: true, maxSockets: 60 })
  onTestFinished(() => connections.destroy())
  const key = await newKey(service)
  const common = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const sessions: string[] = []
  const post = (headers: Record<string, string>, body: string, method = 'POST'): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(
        url,
        { method, headers: { ...common, ...headers }, agent: connections },
        (reply) => {
          const parts: Buffer[] = []
          const answered = () => {
            const text = Buffer.concat(parts).toString()
            const session = reply.headers['mcp-session-id']?.toString()
            if (session !== undefined) sessions.push(session)
            const error = text.startsWith('{') ? JSON.parse(text).error : undefined
            resolve({ status: reply.statusCode ?? 0, session, error })
          }
          reply.on('data', (part) => parts.push(part))
          if (reply.headers['content-type'] === 'text/event-stream') {
            answered()
            sent.destroy() // a subscription lasts as long as its connection
          }
          reply.on('end', answered)
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
  await post({}, JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello }))
  const own = sessions.shift() ?? ''
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-name': 'verbatim__echo' }
  return {
    send: (body: string) => post({ 'mcp-session-id': own }, body),
    sendModern: (method: string, body: string) => post({ ...modern, 'mcp-method': method }, body),
    end: () => post({ 'mcp-session-id': own }, '', 'DELETE'),
    /** Ends the sessions that other messages have opened. */
    async endOthers(): Promise<void> {
      await Promise.all(sessions.splice(0).map((id) => post({ 'mcp-session-id': id }, '', 'DELETE')))
    },
  }
}
