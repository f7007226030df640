import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessUsage } from '../../platform/platform.ts'
import { type ContainerSpec, createBody, filterOf, isOfRun, type Labels } from './create-request.ts'
import { type Engine, EngineError, isRecord } from './engine.ts'
import { OutputFrames } from './output-frames.ts'

interface ContainerExit {
  readonly code: number
  /** The memory limit ended it. */
  readonly outOfMemory: boolean
}

/** How long the engine may take to notice an end that the streams have already shown. */
const NOTICE_MS = 10_000
/** How long after the end it may take to learn that memory was the reason. */
const MEMORY_MS = 1000
const KILLED: ContainerExit = { code: 137, outOfMemory: false }

/** A running container, with the standard streams of its process. */
export class Container {
  readonly id: string
  readonly input: Writable
  readonly output: Readable
  readonly errors: Readable
  /** Settles when its process has ended. The container is still there until `end()`. */
  readonly ended: Promise<ContainerExit>
  readonly #engine: Engine
  readonly #stopWaiting: AbortController
  #removed: Promise<void> | undefined

  private constructor(
    engine: Engine,
    id: string,
    attached: { socket: Socket; head: Buffer },
    waiting: Promise<IncomingMessage>,
    stopWaiting: AbortController,
  ) {
    this.#engine = engine
    this.#stopWaiting = stopWaiting
    this.id = id
    const { socket, head } = attached
    const { output, errors } = new OutputFrames(socket, head)
    this.input = socket
    this.output = output
    this.errors = errors
    const streamsClosed = new Promise<void>((resolve) => socket.once('close', resolve))
    this.ended = this.#exit(waiting, streamsClosed)
  }

  /** Creates, attaches, then starts it: so nothing that it writes is lost. Rejects with an EngineError. */
  static async start(engine: Engine, spec: ContainerSpec, labels: Labels): Promise<Container> {
    const id = await create(engine, spec, labels)
    const stopWaiting = new AbortController()
    let socket: Socket | undefined
    try {
      const streams = { stream: '1', stdin: '1', stdout: '1', stderr: '1' }
      const attached = await engine.hijack(`/containers/${id}/attach`, streams)
      socket = attached.socket
      const condition = { condition: 'next-exit' }
      const waiting = engine.open('POST', `/containers/${id}/wait`, condition, stopWaiting.signal)
      const container = new Container(engine, id, attached, waiting, stopWaiting)
      await engine.post(`/containers/${id}/start`)
      return container
    } catch (error) {
      stopWaiting.abort()
      socket?.destroy()
      await removeContainer(engine, id)
      throw error
    }
  }

  /** Asks its process to end. */
  async ask(): Promise<void> {
    await this.#engine.post(`/containers/${this.id}/kill`, { signal: 'SIGTERM' }).catch(() => {}) // it has ended
  }

  /** Ends all its processes and deletes it. Resolves when nothing is left. */
  end(): Promise<void> {
    this.#removed ??= (async () => {
      await removeContainer(this.#engine, this.id)
      this.#stopWaiting.abort()
      this.input.destroy()
    })()
    return this.#removed
  }

  /**
   * One entry for each process. The engine tells only their sum, which the first entry gets; the others are zero. Undefined
   * when the container has ended.
   */
  async usage(): Promise<ProcessUsage[] | undefined> {
    try {
      const [stats, top] = await Promise.all([
        this.#engine.get(`/containers/${this.id}/stats`, { stream: 'false', 'one-shot': 'true' }),
        this.#engine.get(`/containers/${this.id}/top`),
      ])
      const sum = usageIn(stats)
      const count = isRecord(top) && Array.isArray(top.Processes) ? top.Processes.length : 1
      return (
        sum &&
        Array.from({ length: count }, (_, pid) => ({ pid, zombie: false, ...(pid === 0 ? sum : NOTHING) }))
      )
    } catch (error) {
      if (error instanceof EngineError) return undefined
      throw error
    }
  }

  /** The answer to `wait`, or the state of the container after its streams were closed, whichever comes first. */
  async #exit(waiting: Promise<IncomingMessage>, streamsClosed: Promise<void>): Promise<ContainerExit> {
    const waited = waiting.then(
      (response) => new Promise<void>((resolve) => response.resume().once('close', resolve)),
      () => streamsClosed,
    )
    await Promise.race([waited, streamsClosed])
    const since = performance.now()
    for (;;) {
      const state = await this.#state()
      const isOver = state !== 'running' && state !== 'gone'
      const isUnclear = isOver && state.code === KILLED.code && !state.outOfMemory && !this.#removed
      const patienceMs = state === 'running' ? NOTICE_MS : isUnclear ? MEMORY_MS : 0
      if (performance.now() - since >= patienceMs) return isOver ? state : KILLED
      await sleep(50)
    }
  }

  async #state(): Promise<ContainerExit | 'running' | 'gone'> {
    try {
      const found = await this.#engine.get(`/containers/${this.id}/json`)
      const state = isRecord(found) && isRecord(found.State) ? found.State : {}
      // Podman says of a container that it is deleting that it ended with 0.
      if (state.Running === true || /^(?:removing|stopping)$/.test(String(state.Status))) return 'running'
      return { code: Number(state.ExitCode ?? 0), outOfMemory: state.OOMKilled === true }
    } catch {
      return 'gone' // deleted by `end()`, by a user, or together with the engine
    }
  }
}

async function create(engine: Engine, spec: ContainerSpec, labels: Labels): Promise<string> {
  const name = `toolroom-${labels.server.replace(/[^\w.-]/g, '-').slice(0, 60)}-${randomBytes(4).toString('hex')}`
  const created = await engine
    .post('/containers/create', { name }, createBody(spec, labels))
    .catch((error: unknown) => {
      // Podman without catatonit. Then SIGTERM reaches only a server that handles it, and SIGKILL follows.
      if (!(error instanceof EngineError) || !error.message.includes('init binary not found')) throw error
      return engine.post('/containers/create', { name }, createBody(spec, labels, { init: false }))
    })
  if (isRecord(created) && typeof created.Id === 'string') return created.Id
  throw new EngineError(0, 'The container engine did not say which container it has created')
}

const NOTHING = { cpuMs: 0, rssBytes: 0 }

function usageIn(stats: unknown): typeof NOTHING | undefined {
  const number = (...path: string[]): number | undefined => {
    let value: unknown = stats
    for (const name of path) value = isRecord(value) ? value[name] : undefined
    return typeof value === 'number' ? value : undefined
  }
  const cpuNs = number('cpu_stats', 'cpu_usage', 'total_usage')
  const used = number('memory_stats', 'usage')
  if (cpuNs === undefined || used === undefined) return undefined
  // Files in the cache are not memory that the server needs. The name depends on the version of the kernel's cgroups.
  const cached =
    number('memory_stats', 'stats', 'inactive_file') ??
    number('memory_stats', 'stats', 'total_inactive_file') ??
    0
  return { cpuMs: cpuNs / 1e6, rssBytes: Math.max(0, used - cached) }
}

/**
 * Ends the containers that earlier runs of this installation have left: a container does not end with the process that
 * started it. Returns how many there were.
 */
export async function endLeftovers(
  engine: Engine,
  { installation, run }: Pick<Labels, 'installation' | 'run'>,
): Promise<number> {
  const found = await engine.get('/containers/json', { all: 'true', filters: filterOf(installation) })
  const ids = (Array.isArray(found) ? found : []).flatMap((each: unknown) =>
    isRecord(each) && typeof each.Id === 'string' && !isOfRun(each, run) ? [each.Id] : [],
  )
  await Promise.all(ids.map((id) => removeContainer(engine, id)))
  return ids.length
}

/** Also while it is running. A container that is gone already is no error. */
async function removeContainer(engine: Engine, id: string): Promise<void> {
  await engine.delete(`/containers/${id}`, { force: 'true', v: 'true' }).catch((error: unknown) => {
    if (!(error instanceof EngineError) || error.status !== 404) throw error
  })
}
