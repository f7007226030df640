import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

const ROOT = process.cwd()
const ECHO = join(ROOT, 'test/fixtures/servers/echo.mjs')
const TOKEN = '0123456789abcdef'.repeat(4)
const PATIENCE_S = 120
const BACK_WITHIN_MS = 10_000

/** A program that runs tool servers: Toolroom or the baseline. */
export interface Subject {
  readonly pid: number
  /** Settles when that many servers run: handshake done and tools listed. */
  start(servers: number): Promise<void>
  running(): Promise<Running[]>
  /** Settles when a killed server runs again. Called once its new process exists. */
  back(killed: Running): Promise<void>
  close(): Promise<void>
}

export interface Running {
  readonly id: string
  readonly pid: number
}

export interface View {
  readonly id: string
  readonly status: string
  readonly pid: number | null
  readonly restart_count: number
  readonly last_error: unknown
}

/** The built service, over HTTP. */
export class Toolroom implements Subject {
  readonly pid: number
  readonly address: string
  readonly #child: ChildProcess
  readonly #agent = new Agent({ keepAlive: true })

  private constructor(child: ChildProcess, address: string) {
    this.#child = child
    this.address = address
    this.pid = child.pid ?? 0
  }

  /** `more` is added to its minimal environment. */
  static async open(home: string, more: Readonly<Record<string, string>> = {}): Promise<Toolroom> {
    const env = { PATH: process.env.PATH, HOME: home, PORT: '0', AUTH_TOKEN: TOKEN, ...more }
    const main = join(ROOT, 'dist/main.js')
    const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const address = await untilPrinted(child, /ready at (http:\S+)/)
    return new Toolroom(child, address)
  }

  async register(servers: number): Promise<void> {
    for (let n = 0; n < servers; n += 1)
      await this.ask('POST', '/api/servers', { name: idOf(n), command: process.execPath, args: [ECHO] })
  }

  /** Sends one request per server, all at once. Each response is sent when the server runs. */
  async start(servers: number): Promise<void> {
    const ids = Array.from({ length: servers }, (_, n) => idOf(n))
    await Promise.all(ids.map((id) => this.ask('POST', `/api/servers/${id}/start?wait_s=${PATIENCE_S}`)))
  }

  async running(): Promise<Running[]> {
    return (await this.list()).flatMap(({ id, pid }) => (pid === null ? [] : [{ id, pid }]))
  }

  async back({ id, pid }: Running): Promise<void> {
    const end = performance.now() + BACK_WITHIN_MS
    while (performance.now() < end) {
      const now = (await this.ask('GET', `/api/servers/${id}`)) as View
      if (now.pid !== null && now.pid !== pid) return
      await sleep(2)
    }
    throw new Error(`${id} was killed and not restarted`)
  }

  async list(): Promise<View[]> {
    return ((await this.ask('GET', '/api/servers')) as { items: View[] }).items
  }

  /** Stops all servers, so that the next start must store the desired state again, as the first one did. */
  async stopAll(): Promise<void> {
    await Promise.all((await this.list()).map(({ id }) => this.ask('POST', `/api/servers/${id}/stop`)))
  }

  async close(): Promise<void> {
    this.#agent.destroy()
    this.#child.kill('SIGTERM')
    await once(this.#child, 'close')
  }

  /** Rejects unless the response is a success. */
  ask(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const headers = { 'x-svc-token': TOKEN, ...(body && { 'content-type': 'application/json' }) }
      const asked = request(`${this.address}${path}`, { method, headers, agent: this.#agent }, (reply) => {
        const chunks: Buffer[] = []
        reply
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8')
            if ((reply.statusCode ?? 0) < 300) resolve(JSON.parse(text))
            else reject(new Error(`${method} ${path} returned ${reply.statusCode}: ${text}`))
          })
      })
      asked.on('error', reject).end(body && JSON.stringify(body))
    })
  }
}

/** The baseline: holder.mjs. */
export class Holder implements Subject {
  readonly pid: number
  readonly #child: ChildProcess
  readonly #atOnce: number

  private constructor(child: ChildProcess, atOnce: number) {
    this.#child = child
    this.#atOnce = atOnce
    this.pid = child.pid ?? 0
  }

  static async open(home: string, atOnce: number): Promise<Holder> {
    const env = { PATH: process.env.PATH, HOME: home }
    const child = spawn(process.execPath, [join(ROOT, 'bench/holder.mjs'), ECHO], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await once(child, 'spawn')
    await sleep(300) // until it has loaded; Toolroom is measured after its start as well
    return new Holder(child, atOnce)
  }

  async start(servers: number): Promise<void> {
    const ready = untilPrinted(this.#child, /(ready)/)
    this.#child.stdin?.write(`${servers} ${this.#atOnce}\n`)
    await ready
  }

  running(): Promise<Running[]> {
    return Promise.resolve(childrenOf(this.pid).map((pid) => ({ id: String(pid), pid })))
  }

  async back(): Promise<void> {
    await untilPrinted(this.#child, /(back)/)
  }

  async close(): Promise<void> {
    this.#child.stdin?.end()
    await once(this.#child, 'close')
  }
}

export const idOf = (n: number) => `echo-${n}`

/** Children of the main thread, which is the one that spawns. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

/** Settles when a child appears that is not in `before`. */
export async function untilNewChild(pid: number, before: ReadonlySet<number>): Promise<number> {
  const end = performance.now() + BACK_WITHIN_MS
  while (performance.now() < end) {
    if (childrenOf(pid).some((child) => !before.has(child))) return performance.now()
    await turn()
  }
  throw new Error('a killed server was not restarted')
}

/** Settles when the CPU is idle, or after 10 s: other work on this machine would be measured too. */
export async function untilQuiet(): Promise<void> {
  const end = performance.now() + QUIET_WITHIN_MS
  while (performance.now() < end) {
    const before = cpuTicks()
    await sleep(500)
    const now = cpuTicks()
    if (now.busy - before.busy < QUIET_SHARE * (now.all - before.all)) return
  }
}
const QUIET_WITHIN_MS = 10_000
const QUIET_SHARE = 0.05

function cpuTicks(): { busy: number; all: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const ticks = line.split(/\s+/).slice(1, 9).map(Number)
  const all = ticks.reduce((sum, each) => sum + each, 0)
  return { busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0), all }
}

export function rssMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}

/** CPU time used so far by all threads. The kernel counts in hundredths of a second. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** The first group of `words` once the process prints a match. */
export function untilPrinted(child: ChildProcess, words: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const onData = (chunk: Buffer) => {
      text += String(chunk)
      const found = words.exec(text)?.[1]
      if (found === undefined) return
      child.stdout?.off('data', onData)
      child.off('close', end)
      resolve(found)
    }
    const end = () => reject(new Error(`the process ended after printing: ${text}`))
    child.stdout?.on('data', onData)
    child.once('close', end)
  })
}
