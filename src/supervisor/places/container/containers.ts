import { mkdirSync } from 'node:fs'
import type { LastError } from '../../../kernel/server-state.ts'
import type { Marks } from '../../platform/platform.ts'
import { type ServerProcess, StartFailure } from '../../process/start-child.ts'
import { type Ability, able, notStarted, unable } from '../ability.ts'
import { Container, endLeftovers } from './container.ts'
import { type Contained, type ContainerSurroundings, specOf } from './container-spec.ts'
import type { ContainerSpec } from './create-request.ts'
import { Engine, EngineError, type EngineSocket, engineInfo, findEngineSocket, isRootless } from './engine.ts'
import { engineObstacle, explainEngine, explainPull, noEngine } from './explain-engine-error.ts'
import { findImage, type Image, ImagePins, type Pulling, pullImage } from './images.ts'

export interface ContainersDeps extends ContainerSurroundings {
  /** The environment of Toolroom, which says where the engine is. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pinFile: string
  readonly marks: Marks
}

/** How long a user waits for the name of the engine. */
const INFO_MS = 5000
/** So long after an answer, the engine is still there: one that a socket starts has not ended again. */
const THERE_FOR_MS = 5000
const LOOK_AGAIN_MS = 30_000

/** Runs servers in containers of the engine that is there. */
export class Containers {
  readonly #deps: ContainersDeps
  readonly #pins: ImagePins
  readonly #running = new Set<Container>()
  /** The servers of all containers that run or are started; null for a definition that is only tried out. */
  readonly #present = new Map<object, string | null>()
  /** What the engine has said about images, by their names. */
  readonly #images = new Map<string, { readonly at: number; readonly isMissing: boolean }>()
  #answeredAt = Number.NEGATIVE_INFINITY

  constructor(deps: ContainersDeps) {
    this.#deps = deps
    this.#pins = new ImagePins(deps.pinFile)
  }

  /** Rejects with a StartFailure. */
  async start(serverId: string | null, contained: Contained): Promise<ServerProcess> {
    const specified = specOf(contained, this.#deps)
    if (!specified.ok) throw new StartFailure(specified.error, false)
    const { spec } = specified
    if (spec.isNested) this.#refuseSecond(serverId)
    const found = this.#socket()
    if (!found.ok) throw new StartFailure(notStarted('engine_unavailable', found.obstacle), false)
    const engine = new Engine(found.path)
    mkdirSync(this.#deps.empty, { recursive: true })
    const presence = {}
    this.#present.set(presence, serverId)
    try {
      const image = await this.#pinned(engine, serverId, spec.image)
      this.#pins.begin()
      const own = { ...spec, image, user: spec.user ?? (await userFor(engine, spec)) }
      const container = await Container.start(engine, own, { ...this.#labels, server: serverId ?? 'trial' })
      this.#running.add(container)
      void container.ended.then(() => {
        this.#running.delete(container)
        this.#present.delete(presence)
      })
      return processOf(container)
    } catch (error) {
      this.#present.delete(presence)
      if (!(error instanceof EngineError)) throw error
      throw new StartFailure(explainEngine(error, spec.image, found.path), false)
    }
  }

  /**
   * Why the container of a server cannot be made, as far as it is known. Asks an engine that is there anyway, and does not
   * wait for its answer.
   */
  problem(serverId: string, contained: Contained): LastError | null {
    const specified = specOf(contained, this.#deps)
    if (!specified.ok) return specified.error
    const { image } = specified.spec
    if (this.#pins.of(serverId, image) !== undefined) return null
    const now = performance.now()
    const known = this.#images.get(image)
    const isThere = this.#running.size > 0 || now - this.#answeredAt < THERE_FOR_MS
    const socket = this.#socket()
    if (isThere && socket.ok && (!known || now - known.at > LOOK_AGAIN_MS)) {
      this.#images.set(image, { at: now, isMissing: known?.isMissing ?? false }) // asked only once
      void this.#find(new Engine(socket.path), image).catch(() => {}) // it has ended meanwhile
    }
    return known?.isMissing ? explainEngine(noImage(image), image, '') : null
  }

  async ability(): Promise<Ability<'docker' | 'podman'>> {
    const found = this.#socket()
    if (!found.ok) return unable<'docker' | 'podman'>(null, found.obstacle)
    try {
      const { name, version } = await engineInfo(new Engine(found.path), INFO_MS)
      this.#answeredAt = performance.now()
      return able(name, version)
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      const said = { clause: `the container engine said: ${error.message}`, remedy: CHECK_ENGINE }
      return unable<'docker' | 'podman'>(null, engineObstacle(error, found.path) ?? said)
    }
  }

  /** Downloads an image. Rejects with an AppError. */
  async pull(image: string, pulling: Pulling): Promise<Image> {
    const found = this.#socket()
    if (!found.ok) throw noEngine(found.obstacle)
    const engine = new Engine(found.path)
    try {
      const pulled = await pullImage(engine, image, pulling)
      this.#images.set(image, { at: performance.now(), isMissing: false })
      return pulled
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      const { name } = await engineInfo(engine).catch(() => ({ name: 'docker' as const }))
      throw explainPull(error, { image, engine: name, socket: found.path })
    }
  }

  /** Ends what earlier runs have left. Without an engine there is nothing. */
  async endLeftovers(): Promise<number> {
    const found = this.#socket()
    return found.ok ? endLeftovers(new Engine(found.path), this.#labels) : 0
  }

  /** Ends all containers of this run at once. */
  async endAll(): Promise<void> {
    await Promise.allSettled([...this.#running].map((container) => container.end()))
  }

  /** A trial is one of an unknown server. */
  #refuseSecond(serverId: string | null): void {
    const others = [...this.#present.values()]
    if ((serverId === null && others.length > 0) || others.includes(serverId) || others.includes(null))
      throw new StartFailure(notStarted('container_failed', NESTED), false)
  }

  #socket(): EngineSocket {
    return findEngineSocket(this.#deps.env, process.getuid?.())
  }

  get #labels() {
    const { ofFolder, ofRun } = this.#deps.marks
    return { installation: ofFolder, run: ofRun }
  }

  /** The id of the contents that the server had at its first start. */
  async #pinned(engine: Engine, serverId: string | null, image: string): Promise<string> {
    const pinned = serverId === null ? undefined : this.#pins.of(serverId, image)
    if (pinned !== undefined) return pinned
    const found = await this.#find(engine, image)
    if (!found) throw noImage(image)
    if (serverId !== null) this.#pins.pin(serverId, image, found.id)
    return found.id
  }

  async #find(engine: Engine, image: string): Promise<Image | undefined> {
    const found = await findImage(engine, image)
    this.#answeredAt = performance.now()
    if (this.#images.size >= MAX_IMAGES) this.#images.clear()
    this.#images.set(image, { at: this.#answeredAt, isMissing: found === undefined })
    return found
  }
}

const MAX_IMAGES = 500

const NESTED = {
  clause:
    'a container has a folder that it may only read inside of one that it may change, and only one of its processes can run',
  remedy:
    'Wait for the other process, set sharing to shared, or grant folders that are not inside of each other',
}

const noImage = (image: string): EngineError => new EngineError(404, `No such image: ${image}`)

/**
 * Root in a container without rights may not use the folders of another user. An engine that runs without root maps it to
 * this user.
 */
async function userFor(engine: Engine, { binds }: ContainerSpec): Promise<string | undefined> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  if (uid === 0 || binds.length === 0) return undefined
  return (await isRootless(engine)) ? undefined : `${uid}:${gid}`
}

const CHECK_ENGINE = 'Check the log of the container engine'

function processOf(container: Container): ServerProcess {
  const { input, output, errors } = container
  input.on('error', () => {}) // a write to a container that has ended, which `ended` reports
  return {
    pid: null,
    input,
    output,
    errors,
    ended: container.ended.then(({ code, outOfMemory }) => ({ code, signal: null, outOfMemory })),
    settled: () => {},
    closeInput: async () => void input.end(),
    ask: () => {
      void container.ask()
      return true
    },
    end: () => container.end(),
    usage: () => container.usage(),
  }
}
