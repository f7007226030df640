import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { LastError } from '../../../kernel/server-state.ts'
import type { Launch } from '../../platform/platform.ts'
import type { Confine } from '../../process/start-child.ts'
import { bubblewrapArgs, SYSTEM_FOLDERS, trialArgs } from './bubblewrap.ts'
import { bubblewrapMissing, namespacesRefused, notOnThisSystem } from './remedy.ts'
import { seatbeltArgs } from './seatbelt.ts'
import { type Confined, missingPath, mountsOf, type Walls } from './walls.ts'

export interface SandboxDeps {
  /** For tests. */
  readonly system?: NodeJS.Platform
  /** The path of a program in Toolroom's own PATH, not in that of a server. */
  readonly find: (program: string) => Promise<string | undefined>
  readonly home: string
  /** Toolroom's own folders. */
  readonly hidden: readonly string[]
}

const SEATBELT = '/usr/bin/sandbox-exec'
const TRIAL_MS = 10_000
const MAX_SAID_CHARACTERS = 300

/** Puts programs behind walls: bubblewrap on Linux, sandbox-exec on macOS (not tested there yet). */
export class Sandbox {
  readonly #deps: SandboxDeps
  /** The bwrap that has worked once. */
  #proven: string | undefined

  constructor(deps: SandboxDeps) {
    this.#deps = deps
  }

  /** How to start a program behind walls, or why it cannot be: then nothing may be started. */
  async confine(launch: Launch & { readonly cwd: string }, walls: Walls): ReturnType<Confine> {
    const { system = process.platform, home, hidden } = this.#deps
    const { HOME = home } = process.env
    const confined: Confined = { ...launch, env: { HOME, ...launch.env } }
    const missing = missingPath(walls, home)
    if (missing !== undefined) return { ok: false, error: pathNotFound(missing) }
    if (system === 'darwin') {
      const mounts = mountsOf(confined, walls, { home, hidden, system: [] })
      return { ok: true, launch: { ...launch, path: SEATBELT, args: seatbeltArgs(confined, mounts, walls) } }
    }
    if (system !== 'linux') return { ok: false, error: notOnThisSystem(NAMES[system] ?? system) }
    const bwrap = await this.#deps.find('bwrap')
    if (bwrap === undefined) return { ok: false, error: bubblewrapMissing() }
    const refused = await this.#try(bwrap)
    if (refused) return { ok: false, error: refused }
    const mounts = mountsOf(confined, walls, { home, hidden, system: SYSTEM_FOLDERS })
    const args = bubblewrapArgs(confined, mounts, walls)
    return { ok: true, launch: { ...launch, path: bwrap, args, isHolder: true } }
  }

  /** Tried before the first server, because the error of a refused namespace must not look like one of the server. */
  async #try(bwrap: string): Promise<LastError | undefined> {
    if (this.#proven === bwrap) return undefined
    try {
      await promisify(execFile)(bwrap, trialArgs(bwrap), { env: {}, timeout: TRIAL_MS })
      this.#proven = bwrap
      return undefined
    } catch (error) {
      const { stderr = '', message } = error as Error & { stderr?: string }
      const said = stderr.trim() || message
      return namespacesRefused(bwrap, said.split('\n')[0]?.slice(0, MAX_SAID_CHARACTERS) ?? '')
    }
  }
}

const NAMES: Partial<Record<NodeJS.Platform, string>> = { win32: 'Windows', freebsd: 'FreeBSD' }

const pathNotFound = (file: string): LastError => ({
  code: 'path_not_found',
  message: `The server was not started: ${file} in isolation_options does not exist`,
  hint: 'Create it, or remove it from isolation_options',
})
