import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, round } from './statistics.ts'
import { cpuMs, untilQuiet } from './subjects.ts'

const ROOT = process.cwd()
const CACHE = join(ROOT, 'node_modules/.cache/bench')
const TOKEN = '0123456789abcdef'.repeat(4)
const CLIENTS = 200
const CALLS = 400
const AT_ONCE = 4
/** Each call sends two events. */
const MESSAGES = CALLS * 2 * CLIENTS
const ROUNDS = 3

/** Connects the clients, prints one frame of each kind, and reports when all clients together received the given number. */
const LISTENERS = `
import { createInterface } from 'node:readline'
import WebSocket from 'ws'
const [address, clients] = process.argv.slice(2)
let received = 0
let expected = Infinity
const onMessage = (data) => {
  if (!data.subarray(0, 24).includes('"type":"call_')) return
  if (received < 1000 * clients && !samples.has(String(data).slice(8, 30))) print(String(data))
  received += 1
  if (received === expected) console.log('received all')
}
const samples = new Set()
const print = (text) => {
  samples.add(text.slice(8, 30))
  console.log('frame ' + text)
}
await Promise.all(Array.from({ length: Number(clients) }, () => new Promise((resolve, reject) => {
  const socket = new WebSocket(address)
  socket.on('message', onMessage).once('open', resolve).on('error', reject)
  socket.on('close', (code) => { console.error('closed with', code); process.exit(1) })
})))
createInterface({ input: process.stdin }).on('line', (line) => {
  received = 0
  expected = Number(line)
  console.log('listening')
}).on('close', () => process.exit(0))
console.log('open')
`

/** The baseline: each request sends two frames to every connected client. */
const BARE = `
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
const frames = JSON.parse(process.argv[2])
const server = createServer((request, reply) => {
  request.resume().on('end', () => {
    for (const frame of frames) for (const client of listeners.clients) client.send(frame)
    reply.setHeader('content-type', 'application/json').end('{}')
  })
})
const listeners = new WebSocketServer({ server, perMessageDeflate: false })
server.listen(0, '127.0.0.1', () => console.log('ready at http://127.0.0.1:' + server.address().port))
`

/** The cost of an event with 200 connected clients: Toolroom and a bare `ws`, interleaved, with the same load. */
export async function run() {
  const home = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(join(CACHE, 'listeners.mjs'), LISTENERS)
  writeFileSync(join(CACHE, 'bare-live.mjs'), BARE)
  const toolroom = await openProgram([join(ROOT, 'dist/main.js')], home, '/api/servers/echo/tools/echo/call')
  const echo = {
    name: 'echo',
    command: process.execPath,
    args: [join(ROOT, 'test/fixtures/servers/echo.mjs')],
  }
  await post(toolroom, '/api/servers', echo)
  await post(toolroom, '/api/servers/echo/start?wait_s=30')
  const frames = await framesOf(toolroom)
  const bare = await openProgram([join(CACHE, 'bare-live.mjs'), JSON.stringify(frames)], home, '/call')
  const subjects = { Toolroom: toolroom, 'bare ws': bare }
  const measured: Record<string, Measured[]> = { Toolroom: [], 'bare ws': [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    await untilQuiet()
    for (const [name, subject] of Object.entries(subjects)) measured[name]?.push(await measure(subject))
  }
  for (const { child } of [toolroom, bare]) await end(child)
  rmSync(home, { recursive: true, force: true })
  return {
    title: `Live: ${CALLS} calls, each sent to ${CLIENTS} clients as two frames (median of ${ROUNDS} rounds)`,
    rows: table(measured),
  }
}

function table(measured: Readonly<Record<string, readonly Measured[]>>) {
  const rows = Object.entries(measured).map(([program, rounds]) => ({
    program,
    'messages/s': Math.round(median(rounds.map(({ perS }) => perS))),
    'CPU per message (µs)': round(median(rounds.map(({ cpuUs }) => cpuUs))),
    'without the calls (µs)': round(median(rounds.map(({ ownUs }) => ownUs))),
  }))
  const [ours, bare] = rows
  const ratio = (column: 'messages/s' | 'CPU per message (µs)' | 'without the calls (µs)') =>
    round((ours?.[column] ?? 0) / (bare?.[column] ?? 0))
  return [
    ...rows,
    {
      program: 'ratio',
      'messages/s': ratio('messages/s'),
      'CPU per message (µs)': ratio('CPU per message (µs)'),
      'without the calls (µs)': ratio('without the calls (µs)'),
    },
  ]
}

interface Measured {
  readonly perS: number
  readonly cpuUs: number
  /** Without the cost of the same calls when no client is connected. */
  readonly ownUs: number
}

/** First without clients, then with all of them. */
async function measure(subject: Program): Promise<Measured> {
  const before = cpuMs(subject.pid)
  await call(subject, CALLS)
  const alone = cpuMs(subject.pid) - before
  const listeners = await listen(subject)
  const all = untilPrinted(listeners, /received (all)/)
  const counting = untilPrinted(listeners, /(listening)/)
  listeners.stdin?.write(`${MESSAGES}\n`)
  await counting // a frame before that would not be counted
  const startedAt = performance.now()
  const cpuAt = cpuMs(subject.pid)
  await Promise.all([call(subject, CALLS), all])
  const ms = performance.now() - startedAt
  const cpu = cpuMs(subject.pid) - cpuAt
  await end(listeners)
  return {
    perS: (MESSAGES / ms) * 1000,
    cpuUs: (cpu / MESSAGES) * 1000,
    ownUs: ((cpu - alone) / MESSAGES) * 1000,
  }
}

/** The two frames of a call as Toolroom sends them. */
async function framesOf(subject: Program): Promise<string[]> {
  const listeners = await listen(subject, 1)
  const both = Promise.all([
    untilPrinted(listeners, /frame (.*"call_started".*)\n/),
    untilPrinted(listeners, /frame (.*"call_completed".*)\n/),
  ])
  await call(subject, 1)
  const frames = await both
  await end(listeners)
  return frames
}

async function listen({ address }: Program, clients = CLIENTS): Promise<ChildProcess> {
  const url = `${address.replace('http:', 'ws:')}/api/ws/metrics`
  const args = [join(CACHE, 'listeners.mjs'), url, String(clients)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  await untilPrinted(child, /(open)/)
  return child
}

interface Program {
  readonly child: ChildProcess
  readonly pid: number
  readonly address: string
  readonly agent: Agent
  /** The path that is requested to cause events. */
  readonly path: string
}

async function openProgram(args: readonly string[], home: string, path: string): Promise<Program> {
  const env = { PATH: process.env.PATH, HOME: home, PORT: '0', AUTH_TOKEN: TOKEN }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const address = await untilPrinted(child, /ready at (http:\S+)\s/)
  return { child, pid: child.pid ?? 0, address, agent: new Agent({ keepAlive: true }), path }
}

async function call(subject: Program, calls: number): Promise<void> {
  let left = calls
  const lane = async () => {
    while (left-- > 0) await post(subject, subject.path, { arguments: { text: 'hello' } })
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

function post({ address, agent }: Program, path: string, body?: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-svc-token': TOKEN, ...(body && { 'content-type': 'application/json' }) }
    const asked = request(`${address}${path}`, { method: 'POST', headers, agent }, (reply) => {
      reply.resume().on('end', () => {
        if ((reply.statusCode ?? 0) < 300) resolve()
        else reject(new Error(`POST ${path} returned ${reply.statusCode}`))
      })
    })
    asked.on('error', reject).end(body && JSON.stringify(body))
  })
}

function untilPrinted(child: ChildProcess, words: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const ended = () => reject(new Error(`the process ended after printing: ${text}`))
    const onData = (chunk: Buffer) => {
      text += String(chunk)
      const found = words.exec(text)?.[1]
      if (found === undefined) return
      child.stdout?.off('data', onData)
      child.off('close', ended)
      resolve(found)
    }
    child.stdout?.on('data', onData)
    child.once('close', ended)
  })
}

async function end(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await closed
}
