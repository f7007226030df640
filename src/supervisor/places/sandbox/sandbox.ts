import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { SYSTEM_FOLDERS } from '../../../kernel/isolation-options.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import type { Launch } from '../../platform/platform.ts'
import type { Confine } from '../../process/start-child.ts'
import { type Ability, able, notStarted, type Obstacle, unable } from '../ability.ts'
import { type LostFiles, lostFiles, NO_LOST_FILES } from './lost-files.ts'
import { type Confined, type Confinement, missingPath, mountsOf } from './mounts.ts'
import { bubblewrapMissing, namespacesRefused, notOnThisSystem, seatbeltRefused } from './obstacles.ts'
import {
  bubblewrapArgs,
  environmentArgs,
  seatbeltArgs,
  seatbeltTrialArgs,
  trialArgs,
} from './sandbox-arguments.ts'

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
const PROVEN_MS = 10_000
const MAX_SAID_CHARACTERS = 300

interface Tool {
  readonly by: 'bubblewrap' | 'sandbox-exec'
  readonly path: string
  readonly version: string | null
}
type FoundTool =
  | ({ readonly ok: true } & Tool)
  | { readonly ok: false; readonly by: Tool['by'] | null; readonly obstacle: Obstacle }

/** Puts programs in isolation: bubblewrap on Linux, sandbox-exec on macOS (not tested there yet). */
export class Sandbox {
  readonly #deps: SandboxDeps
  /** What has worked a moment ago. */
  #proven: { readonly tool: Tool; readonly at: number } | undefined

  constructor(deps: SandboxDeps) {
    this.#deps = deps
  }

  /** How to start a program in isolation, or why it cannot be: then nothing may be started. */
  async confine(launch: Launch & { readonly cwd: string }, confinement: Confinement): ReturnType<Confine> {
    const { system = process.platform, home, hidden } = this.#deps
    const confined: Confined = { ...launch, env: { HOME: this.#homeOf(launch.env), ...launch.env } }
    const missing = missingPath(confinement, home)
    if (missing !== undefined) return { ok: false, error: pathNotFound(missing) }
    const tool = await this.#tool(system)
    if (!tool.ok) return { ok: false, error: notStarted('sandbox_unavailable', tool.obstacle) }
    if (tool.by === 'sandbox-exec') {
      const mounts = mountsOf(confined, confinement, { home, hidden, system: [] })
      return {
        ok: true,
        launch: { ...launch, path: tool.path, args: seatbeltArgs(confined, mounts, confinement) },
      }
    }
    const mounts = mountsOf(confined, confinement, { home, hidden, system: SYSTEM_FOLDERS })
    const args = bubblewrapArgs(confined, mounts, confinement)
    const holderArgs = (environment: Readonly<Record<string, string>>) =>
      environmentArgs(environment, launch.env)
    return { ok: true, launch: { ...launch, path: tool.path, args, holderArgs } }
  }

  /** What a server with this environment has made in its empty home. `holder` is the process that was started for it. */
  async lostFiles(holder: number, env: Readonly<Record<string, string>>): Promise<LostFiles> {
    const { system = process.platform, home } = this.#deps
    return system === 'linux' ? lostFiles(holder, [home, this.#homeOf(env)]) : NO_LOST_FILES
  }

  #homeOf({ HOME = process.env.HOME ?? this.#deps.home }: Readonly<Record<string, string>>): string {
    return HOME
  }

  /** What provides the isolation here, and whether it does. */
  async ability(): Promise<Ability<Tool['by']>> {
    const tool = await this.#tool(this.#deps.system ?? process.platform)
    return tool.ok ? able(tool.by, tool.version) : unable(tool.by, tool.obstacle)
  }

  async #tool(system: NodeJS.Platform): Promise<FoundTool> {
    if (system === 'darwin') return this.#tried('sandbox-exec', SEATBELT, seatbeltTrialArgs)
    if (system !== 'linux') return { ok: false, by: null, obstacle: notOnThisSystem(NAMES[system] ?? system) }
    const bwrap = await this.#deps.find('bwrap')
    if (bwrap === undefined) return { ok: false, by: null, obstacle: bubblewrapMissing() }
    return this.#tried('bubblewrap', bwrap, trialArgs(bwrap))
  }

  /** Tried before a server is started, because the error of a refused namespace must not look like one of the server. */
  async #tried(by: Tool['by'], path: string, args: readonly string[]): Promise<FoundTool> {
    const proven = this.#proven
    if (proven?.tool.path === path && performance.now() - proven.at < PROVEN_MS)
      return { ok: true, ...proven.tool }
    try {
      const { stdout } = await promisify(execFile)(path, args, { env: {}, timeout: TRIAL_MS })
      const tool = { by, path, version: /\d+(?:\.\d+)+/.exec(stdout)?.[0] ?? null }
      this.#proven = { tool, at: performance.now() }
      return { ok: true, ...tool }
    } catch (error) {
      const { stderr = '', message } = error as Error & { stderr?: string }
      const said = (stderr.trim() || message).split('\n')[0]?.slice(0, MAX_SAID_CHARACTERS) ?? ''
      const obstacle = by === 'bubblewrap' ? namespacesRefused(path, said) : seatbeltRefused(said)
      return { ok: false, by, obstacle }
    }
  }
}

const NAMES: Partial<Record<NodeJS.Platform, string>> = { win32: 'Windows', freebsd: 'FreeBSD' }

const pathNotFound = (file: string): LastError => ({
  code: 'path_not_found',
  message: `The server was not started: ${file} in isolation_options does not exist`,
  hint: 'Create it, or remove it from isolation_options',
  action: { kind: 'change_isolation' },
})
