import { execFile, spawn } from 'node:child_process'
import { closeSync, readdirSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { SYSTEM_FOLDERS } from '../../../kernel/isolation-options.ts'
import type { Holder, Launch } from '../../platform/platform.ts'
import type { Confine } from '../../process/start-child.ts'
import { type Ability, able, notStarted, type Obstacle, unable } from '../ability.ts'
import { errorOf } from '../path-refusal.ts'
import type { WrittenFolders } from '../written-folders.ts'
import { type LostFiles, lostFiles, NO_LOST_FILES } from './lost-files.ts'
import { type Confined, type Confinement, type Mount, mountsOf } from './mounts.ts'
import { bubblewrapMissing, namespacesRefused, notOnThisSystem, seatbeltRefused } from './obstacles.ts'
import { openReal } from './open-real.ts'
import {
  bubblewrapArgs,
  environmentArgs,
  type SandboxUser,
  seatbeltArgs,
  seatbeltTrialArgs,
  trialArgs,
} from './sandbox-arguments.ts'
import { findSandboxUser, notWritable, openUserNamespace } from './sandbox-user.ts'
import { systemCallFilter } from './system-call-filter.ts'

export interface SandboxDeps {
  /** For tests. */
  readonly system?: NodeJS.Platform
  /** The path of a program in Toolroom's own PATH, not in that of a server. */
  readonly find: (program: string) => Promise<string | undefined>
  readonly home: string
  /** Toolroom's own folders. */
  readonly hidden: readonly string[]
  /** The one of them with the installed packages. */
  readonly packages?: string
  readonly written: WrittenFolders
  /** The user of the servers if Toolroom is root. */
  readonly userOfRoot: string
  /** For tests: the id of the user who runs Toolroom. */
  readonly uid?: number | undefined
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
  | ({ readonly ok: true; readonly as?: OtherUser | undefined } & Tool)
  | { readonly ok: false; readonly by: Tool['by'] | null; readonly obstacle: Obstacle }

/** Root starts servers as another user, in a namespace that makes this possible. */
interface OtherUser {
  readonly user: SandboxUser
  readonly namespace: number
}

/** Puts programs in isolation: bubblewrap on Linux, sandbox-exec on macOS (not tested there yet). */
export class Sandbox {
  readonly #deps: SandboxDeps
  /** What has worked a moment ago. */
  #proven: { readonly tool: Tool; readonly at: number } | undefined
  #namespace: Promise<number> | undefined
  #bindsByDescriptor: { readonly path: string; readonly answer: Promise<boolean> } | undefined
  /** Descriptors that this process inherited, and would pass on. */
  readonly #inherited: readonly number[]

  constructor(deps: SandboxDeps) {
    this.#deps = deps
    this.#inherited = (deps.system ?? process.platform) === 'linux' ? inheritable() : []
  }

  /** How to start a program in isolation, or why it cannot be: then nothing may be started. */
  async confine(launch: Launch & { readonly cwd: string }, confinement: Confinement): ReturnType<Confine> {
    const { system = process.platform } = this.#deps
    const confined: Confined = { ...launch, env: { HOME: this.#homeOf(launch.env), ...launch.env } }
    const tool = await this.#tool(system)
    if (!tool.ok) return { ok: false, error: notStarted('sandbox_unavailable', tool.obstacle) }
    const folders = tool.by === 'bubblewrap' ? SYSTEM_FOLDERS : READABLE_ON_MACOS
    const found = mountsOf(confined, confinement, { packages: undefined, ...this.#deps, system: folders })
    if (!found.ok) return { ok: false, error: errorOf(found.refusal) }
    const { mounts } = found
    const refusal = tool.as && notWritable(mounts, tool.as.user)
    if (refusal) return { ok: false, error: errorOf(refusal) }
    if (tool.by === 'sandbox-exec') {
      const args = seatbeltArgs(confined, mounts, confinement)
      return { ok: true, launch: { ...launch, path: tool.path, args } }
    }
    const byDescriptor = await this.#canBindByDescriptor(tool.path)
    const descriptors: (number | Buffer)[] = []
    const add = (each: number | Buffer) => FIRST_DESCRIPTOR + descriptors.push(each) - 1
    const namespace = tool.as && add(tool.as.namespace)
    const filter = systemCallFilter()
    const filtered = filter && add(filter)
    const opened: number[] = []
    const close = () => {
      for (const file of opened.splice(0)) closeSync(file)
    }
    const open = (mount: Mount): number | null => {
      if (!byDescriptor || mount.access === 'empty') return null
      const file = openReal(mount.source, this.#deps.written.all)
      opened.push(file)
      return add(file)
    }
    try {
      const args = bubblewrapArgs(confined, mounts, confinement, tool.as?.user, {
        told: FIRST_DESCRIPTOR - 1,
        namespace,
        filter: filtered,
        of: open,
      })
      const holder: Holder = {
        args: (environment) => environmentArgs(environment, launch.env),
        descriptors,
        inherited: this.#inherited,
        leavesGroups: tool.as !== undefined,
        close,
      }
      return { ok: true, launch: { ...launch, path: tool.path, args, holder } }
    } catch (error) {
      close()
      const file = error instanceof Error ? error.message : String(error)
      return { ok: false, error: errorOf({ why: 'missing', file }) } // it was replaced in this moment
    }
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
    if ((this.#deps.uid ?? process.getuid?.()) !== 0)
      return this.#tried('bubblewrap', bwrap, trialArgs(bwrap))
    const found = await findSandboxUser(this.#deps.userOfRoot)
    if (!found.ok) return { ok: false, by: 'bubblewrap', obstacle: found.obstacle }
    const { user } = found
    try {
      this.#namespace ??= openUserNamespace()
      const namespace = await this.#namespace
      const tried = await this.#tried(
        'bubblewrap',
        bwrap,
        trialArgs(bwrap, user, FIRST_DESCRIPTOR),
        namespace,
      )
      return tried.ok ? { ...tried, as: { user, namespace } } : tried
    } catch (error) {
      this.#namespace = undefined
      const said = error instanceof Error ? error.message : String(error)
      return { ok: false, by: 'bubblewrap', obstacle: namespacesRefused(bwrap, said) }
    }
  }

  async #canBindByDescriptor(path: string): Promise<boolean> {
    if (this.#bindsByDescriptor?.path !== path) {
      const help = promisify(execFile)(path, ['--help'], { env: {}, timeout: TRIAL_MS })
      const answer = help.then(({ stdout }) => stdout.includes('--ro-bind-fd'))
      this.#bindsByDescriptor = { path, answer: answer.catch(() => false) }
    }
    return this.#bindsByDescriptor.answer
  }

  /** Tried before a server is started, because the error of a refused namespace must not look like one of the server. */
  async #tried(
    by: Tool['by'],
    path: string,
    args: readonly string[],
    namespace?: number,
  ): Promise<FoundTool> {
    const proven = this.#proven
    if (proven?.tool.path === path && performance.now() - proven.at < PROVEN_MS)
      return { ok: true, ...proven.tool }
    try {
      const output = await outputOf(path, args, namespace)
      const tool = { by, path, version: /\d+(?:\.\d+)+/.exec(output)?.[0] ?? null }
      this.#proven = { tool, at: performance.now() }
      return { ok: true, ...tool }
    } catch (error) {
      const said = error instanceof Error ? error.message.slice(0, MAX_SAID_CHARACTERS) : ''
      const obstacle = by === 'bubblewrap' ? namespacesRefused(path, said) : seatbeltRefused(said)
      return { ok: false, by, obstacle }
    }
  }
}

const NAMES: Partial<Record<NodeJS.Platform, string>> = { win32: 'Windows', freebsd: 'FreeBSD' }

/** Its profile forbids only what is private. */
const READABLE_ON_MACOS = ['/usr', '/bin', '/sbin', '/opt', '/etc', '/private/etc', '/Library', '/System']

/** Descriptor 3 tells it the environment. */
const FIRST_DESCRIPTOR = 4

/** Rejects with the first line of its errors. */
async function outputOf(path: string, args: readonly string[], namespace?: number): Promise<string> {
  const more = namespace === undefined ? [] : ['ignore' as const, namespace]
  const groups = namespace === undefined ? {} : { uid: 0, gid: 0 }
  const stdio = ['ignore' as const, 'pipe' as const, 'pipe' as const, ...more]
  const child = spawn(path, args, { env: {}, timeout: TRIAL_MS, ...groups, stdio })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code))
  })
  const said = Promise.all([child.stdout, child.stderr].map((stream) => (stream ? text(stream) : '')))
  const code = await ended
  const [output = '', errors = ''] = await said
  if (code === 0) return output
  throw new Error(errors.trim().split('\n')[0] || `${path} ended with ${code}`)
}

/** Descriptors without the flag that closes them when a program is started: a parent has left them open, and Node sets the flag. */
function inheritable(): number[] {
  return readdirSync('/proc/self/fdinfo').flatMap((name) => {
    const descriptor = Number(name)
    if (descriptor <= 2) return []
    try {
      const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1] ?? '0'
      return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0 ? [descriptor] : []
    } catch {
      return [] // it was that of the folder
    }
  })
}
const CLOSED_ON_EXEC = 0o2000000
