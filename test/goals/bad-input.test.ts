import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import Value from 'typebox/value'
import { expect, test } from 'vitest'
import { portOf } from '../support/answers.ts'
import { CANARY } from '../support/arbitrary-json.ts'
import { invalidRequests, operationFor, type Sent, wildRequests } from '../support/bad-requests.ts'
import { figure } from '../support/figure.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { heldMemory, MEASURED } from '../support/held-memory.ts'
import { type OpenApi, type Operation, readOpenApi, type Schema } from '../support/openapi.ts'
import { launchReady } from '../support/program.ts'
import { inParallel, rawAnswer } from '../support/raw-http.ts'
import { AUTHORISED, type TestService, TOKEN } from '../support/test-service.ts'
import { openWithServers } from '../support/with-servers.ts'

const RUNS = runs(250, 10_000, 200_000)
/** More requests, because a leak of a few kilobytes each must exceed the limit. */
const SENT = runs(1000, 10_000, 200_000)
const PATIENCE_MS = FULL ? 30 * 60_000 : 600_000
const MAX_GROWTH_MB = 20
const MAX_PROCESS_GROWTH_MB = runs(6, MAX_GROWTH_MB)
const WARM_UP = runs(1000, 2000)
/** Until the caches of both databases are full. */
const SETTLING = runs(2000, 10_000, 50_000)
/** Reading the state takes longer than a refused request. */
const LOOK_EVERY = runs(10, 1)
const BATCH = 1000
const LANES = 8
/** The short run uses a fixed seed, the long one a new seed each time. A failure prints its seed. */
const SEED = FULL ? {} : { seed: 8665 }

type Reply = Awaited<ReturnType<TestService['inject']>>
interface Described {
  readonly operations: readonly Operation[]
  readonly problem: Schema
}

const send = (service: TestService, { why: _, status: __, ...request }: Sent): Promise<Reply> =>
  service.inject(request as InjectOptions)

/** What is wrong with a response to any request; undefined for a correct one. */
function faultOf(
  service: TestService,
  { operations, problem }: Described,
  sent: Sent,
  reply: Reply,
): string | undefined {
  const { statusCode: status, body } = reply
  if (status >= 500) return `server error: ${status} ${body}`
  const operation = operationFor(operations, sent)
  const documented = operation ? operation.answers.has(status) : status === 404 || status === 405
  if (!documented && status !== 302) return `undocumented status: ${status} ${body.slice(0, 300)}`
  for (const secret of [
    TOKEN,
    ...(/^\/api\/(?:sample-server|settings)\b/.test(sent.url) ? [] : [service.data]),
    ...(tellsPaths(sent) ? [] : [service.home]),
    ...(sent.url.startsWith('/api/runtimes') ? [] : ['node_modules', '/src/']), // npm adds folders of this one to PATH
    '\n    at ',
    ...(status >= 400 ? [CANARY] : []),
  ])
    if (body.includes(secret)) return `internal information: ${secret}`
  if (status >= 400) return shapeFault(problem, sent, reply)
  const schema = operation?.answers.get(status)
  if (sent.method === 'HEAD' || !schema) return undefined
  return Value.Check(schema as object, JSON.parse(body))
    ? undefined
    : `response does not match its schema: ${body.slice(0, 300)}`
}

function shapeFault(
  problem: Schema,
  { method }: Sent,
  { statusCode, headers, body }: Reply,
): string | undefined {
  if (!String(headers['content-type']).startsWith('application/problem+json'))
    return 'error with a wrong content type'
  if (headers['cache-control'] !== 'no-store') return 'error without cache-control: no-store'
  if (method === 'HEAD') return body === '' ? undefined : 'response to HEAD with a body'
  const parsed = JSON.parse(body)
  const same = parsed.status === statusCode && parsed.request_id === headers['x-request-id']
  return same && Value.Check(problem as object, parsed) ? undefined : `error with a wrong shape: ${body}`
}

/** The state that a refused request must not change. */
async function stateOf(service: TestService): Promise<string> {
  const [stdio, http] = [await service.inject('/api/servers'), await service.inject('/api/http-servers')]
  return stdio.body + http.body
}

async function refuseAll(service: TestService, described: Described, numRuns: number): Promise<void> {
  const before = await stateOf(service)
  let asked = 0
  const refused = fc.asyncProperty(invalidRequests(described.operations), async (sent) => {
    const reply = await send(service, sent)
    expect(faultOf(service, described, sent, reply)).toBeUndefined()
    expect(reply.statusCode, reply.body).toBeGreaterThanOrEqual(400)
    if (sent.status !== undefined) expect(reply.statusCode, reply.body).toBe(sent.status)
    asked += 1
    if (asked % LOOK_EVERY === 0) expect(await stateOf(service)).toBe(before)
  })
  await fc.assert(refused, { numRuns, ...SEED })
  expect(await stateOf(service)).toBe(before)
}

async function answerAll(service: TestService, described: Described, numRuns: number): Promise<void> {
  const answered = fc.asyncProperty(wildRequests(described.operations), async (sent) => {
    const reply = await send(service, sent)
    expect(faultOf(service, described, sent, reply)).toBeUndefined()
    if (reply.statusCode < 300 && sent.method !== 'GET') await tidy(service)
  })
  await fc.assert(answered, { numRuns, ...SEED, examples: FOUND.map((sent) => [sent]) })
}

/** What the random requests have found. */
const FOUND: Sent[] = [
  {
    why: 'a page of an unknown server',
    method: 'POST',
    url: '/api/app-frames',
    headers: { ...AUTHORISED, 'content-type': 'application/json' },
    payload: '{"server_id":"0","uri":"ui://!"}',
  },
]

/** Valid requests among the random ones add servers, which must not accumulate. */
async function tidy(service: TestService): Promise<void> {
  for (const url of ['/api/servers', '/api/http-servers']) {
    const { items } = (await service.inject(url)).json<{ items: { id: string }[] }>()
    for (const { id } of items.filter((each) => !['github', 'docs'].includes(each.id)))
      await service.inject({ method: 'DELETE', url: `${url}/${id}`, headers: AUTHORISED })
  }
}

test(`R7: ${RUNS} bad inputs get responses of the documented shape, and nothing accumulates`, {
  timeout: PATIENCE_MS,
}, async () => {
  const service = await openWithServers()
  const described = readOpenApi((await service.inject('/docs/json')).json())
  await refuseAll(service, described, WARM_UP / 2)
  await answerAll(service, described, WARM_UP / 2)
  const before = await heldMb()
  await refuseAll(service, described, RUNS / 2)
  await answerAll(service, described, RUNS / 2)
  figure('R7', `growth of the heap after ${RUNS} bad inputs, MB`, (await heldMb()) - before, {
    most: MAX_GROWTH_MB,
  })
  // Not its status: a random request may have started a server that cannot run.
  const { checks } = (await service.inject('/api/health')).json<{ checks: { ok: boolean }[] }>()
  expect(checks.map(({ ok }) => ok)).toEqual([true, true, true])
})

test('R7: malformed HTTP bytes are refused with a problem of the documented shape', {
  timeout: PATIENCE_MS,
}, async () => {
  const service = await openWithServers()
  const { problem } = readOpenApi((await service.inject('/docs/json')).json())
  const head = `POST /api/servers HTTP/1.1\r\nHost: 127.0.0.1:${portOf(service)}\r\nX-SVC-Token: ${TOKEN}\r\n`
  const body = '{"name":"fuzzed","command":"node"}'
  const request = Buffer.from(
    `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const edit = fc.record({
    at: fc.nat(request.length),
    drop: fc.nat(4),
    put: fc.uint8Array({ maxLength: 4 }),
  })
  const answered = fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), async (edits) => {
    const bytes = edits.reduce(
      (all, { at, drop, put }) => Buffer.concat([all.subarray(0, at), put, all.subarray(at + drop)]),
      request,
    )
    const answer = await rawAnswer({ port: portOf(service) }, bytes, true)
    expect(answer.status, answer.body).toBeLessThan(500)
    expect(answer.body).not.toContain(service.home)
    const isHead = bytes.toString('latin1').trimStart().startsWith('HEAD')
    if (answer.status >= 400 && !isHead)
      expect(Value.Check(problem as object, JSON.parse(answer.body))).toBe(true)
  })
  await fc.assert(answered, { numRuns: RUNS / 10, ...SEED })
  expect((await service.inject('/api/health')).json().status).toBe('ok')
})

test.runIf(process.platform === 'linux')(
  `R7: ${SENT} bad inputs make the process grow by less than ${MAX_PROCESS_GROWTH_MB} MB`,
  { timeout: PATIENCE_MS },
  async () => {
    const service = await launchReady({ env: MEASURED })
    const { address } = service
    const { operations } = readOpenApi((await (await fetch(`${address}/docs/json`)).json()) as OpenApi)
    // All wrong tokens come from one address here, and their responses would be delayed.
    const requests = invalidRequests(operations).filter(({ why }) => why !== 'wrong token')
    const agent = new Agent({ keepAlive: true, maxSockets: LANES })
    const flood = async (count: number, seed: number) => {
      for (let sent = 0; sent < count; sent += BATCH) {
        const batch = fc.sample(requests, { numRuns: BATCH, seed: seed + sent })
        await inParallel(batch, LANES, async (each) =>
          expect(await statusOf(address, agent, each)).toBeLessThan(500),
        )
      }
    }
    await flood(SETTLING, 1)
    const before = await heldMemory(service)
    await flood(SENT, 2)
    const after = await heldMemory(service)
    const most = MAX_PROCESS_GROWTH_MB
    const grown = `after ${SENT} bad inputs, MB`
    figure('R7', `growth of the process ${grown}`, after.residentMb - before.residentMb, { most })
    // V8 may return more memory to the system than a leak has taken.
    figure('R7', `growth of what is in use ${grown}`, after.heldMb - before.heldMb, { most })
    expect((await fetch(`${address}/api/health`)).status).toBe(200)
    agent.destroy()
  },
)

/** Heap in use after garbage collection, in MB. */
async function heldMb(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 3; round += 1) {
    collect()
    await sleep(50)
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1_048_576
}

/** Sends over a real connection. Returns zero for a request that Node's client refuses to send, or that is cut off. */
function statusOf(address: string, agent: Agent, { method, url, headers, payload }: Sent): Promise<number> {
  return new Promise((resolve) => {
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => /^[ -~]*$/.test(value)))
    const sent = request(address + url, { method, headers: given, agent }, (answer) => {
      answer.resume().on('close', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', () => resolve(0))
    sent.end(payload)
  })
}

/** These responses contain the paths of agents' files, of packages and of what Toolroom itself writes by design. */
const tellsPaths = ({ url }: Sent): boolean =>
  /^\/api\/(?:agents|backups|packages|sample-server|service|settings)\b/.test(url)
