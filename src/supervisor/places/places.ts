import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Isolation } from '../../kernel/isolation-options.ts'
import type { LastError } from '../../kernel/server-state.ts'
import type { Marks, ProcessGroups } from '../platform/platform.ts'
import { type Definition, type ServerProcess, type Starting, startChild } from '../process/start-child.ts'
import type { Ability } from './ability.ts'
import type { Containers } from './container/containers.ts'
import type { Image, Pulling } from './container/images.ts'
import type { LostFiles } from './sandbox/lost-files.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import type { WrittenFolders } from './written-folders.ts'

/** What to run, and with which isolation. */
export interface Placed extends Definition {
  readonly confinement: Isolation
  /** Null for a definition that is only tried out. */
  readonly serverId: string | null
}

export interface PlacesDeps extends Starting {
  readonly groups: Pick<ProcessGroups, 'start' | 'endAll'>
  readonly marks: Marks
  /** The data folder. */
  readonly folder: string
  /** Toolroom's own folders, which no isolated server sees. */
  readonly hidden: readonly string[]
  /** The user of sandboxed servers if Toolroom is root. */
  readonly sandboxUser: string
}

export interface Abilities {
  readonly sandbox: Ability<'bubblewrap' | 'sandbox-exec'>
  readonly container: Ability<'docker' | 'podman'>
}

/** Exists when a server was started or tried out in a container. */
const IMAGE_PINS = 'image-pins.json'
/** Exists when a server in isolation was started that may write. */
const WRITTEN_FOLDERS = 'written-folders.json'

/**
 * Where servers run: as a process of this computer, in a sandbox, or in a container. The code of the last two is loaded
 * with the first server that needs it.
 */
export class Places {
  readonly #deps: PlacesDeps
  #sandbox: Promise<Sandbox> | undefined
  #containers: Promise<Containers> | undefined
  #opened: Containers | undefined
  #written: WrittenFolders | undefined

  constructor(deps: PlacesDeps) {
    this.#deps = deps
  }

  /** Rejects with a StartFailure. Never starts a server without the isolation that it should have. */
  async start(placed: Placed, mark: string): Promise<ServerProcess> {
    const { isolation, isolation_options } = placed.confinement
    switch (isolation) {
      case 'none':
        return startChild(placed, mark, this.#deps)
      case 'sandbox': {
        const sandbox = await this.#openSandbox()
        return startChild(placed, mark, this.#deps, (launch) => sandbox.confine(launch, isolation_options))
      }
      case 'container':
        return (await this.#openContainers()).start(placed.serverId, {
          ...placed,
          options: isolation_options,
        })
    }
  }

  /** What a running server in a sandbox has made in memory only. Undefined in other places. */
  async lostFiles(pid: number | null, { confinement, env }: Placed): Promise<LostFiles | undefined> {
    if (confinement.isolation !== 'sandbox' || pid === null) return undefined
    return (await this.#openSandbox()).lostFiles(pid, env)
  }

  /** What this computer can do. Loads the code of all places. */
  async abilities(): Promise<Abilities> {
    const [sandbox, containers] = await Promise.all([this.#openSandbox(), this.#openContainers()])
    const [inSandbox, inContainer] = await Promise.all([sandbox.ability(), containers.ability()])
    return { sandbox: inSandbox, container: inContainer }
  }

  /** Why the container of a server cannot be made, as far as it is known. Loads no code and starts no engine. */
  containerProblem(...about: Parameters<Containers['problem']>): LastError | null {
    return this.#opened?.problem(...about) ?? null
  }

  /** Downloads an image into the container engine. Rejects with an AppError. */
  async pullImage(image: string, pulling: Pulling): Promise<Image> {
    return (await this.#openContainers()).pull(image, pulling)
  }

  /** Ends the containers of a killed run. Its processes have been ended by then. */
  async endLeftovers(): Promise<number> {
    if (!existsSync(join(this.#deps.folder, IMAGE_PINS))) return 0
    return (await this.#openContainers()).endLeftovers()
  }

  /** Ends everything of this run at once. */
  async endAll(): Promise<void> {
    await Promise.all([
      this.#deps.groups.endAll(),
      this.#containers?.then((containers) => containers.endAll()),
    ])
  }

  #openSandbox(): Promise<Sandbox> {
    this.#sandbox ??= this.#sandboxIn()
    return this.#sandbox
  }

  async #sandboxIn(): Promise<Sandbox> {
    const { findProgram, hidden, folder, sandboxUser } = this.#deps
    const { Sandbox } = await import('./sandbox/sandbox.ts')
    return new Sandbox({
      find: (program) => ownProgram(findProgram, program),
      home: homedir(),
      hidden,
      packages: join(folder, 'packages'),
      written: await this.#writtenFolders(),
      userOfRoot: sandboxUser,
    })
  }

  #openContainers(): Promise<Containers> {
    this.#containers ??= this.#containersIn()
    return this.#containers
  }

  async #containersIn(): Promise<Containers> {
    const { folder, marks, hidden } = this.#deps
    const { Containers } = await import('./container/containers.ts')
    const written = await this.#writtenFolders()
    const pinFile = join(folder, IMAGE_PINS)
    const around = { home: homedir(), own: hidden, written, empty: join(folder, 'empty') }
    this.#opened = new Containers({ ...around, env: process.env, pinFile, marks })
    return this.#opened
  }

  async #writtenFolders(): Promise<WrittenFolders> {
    const { WrittenFolders } = await import('./written-folders.ts')
    this.#written ??= new WrittenFolders(join(this.#deps.folder, WRITTEN_FOLDERS))
    return this.#written
  }
}

/** A program in Toolroom's own PATH, not in that of a server. */
async function ownProgram(
  findProgram: Starting['findProgram'],
  program: string,
): Promise<string | undefined> {
  const found = await findProgram({ command: program, env: {}, cwd: '/' })
  return found.ok ? found.path : undefined
}
