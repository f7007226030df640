import type { IsolationOptions } from '../../kernel/isolation-options.ts'
import type { LastError } from '../../kernel/server-state.ts'
import type { References } from '../shared/definition/resolved-references.ts'
import type { FindProgram } from './actions/diagnose.ts'
import { type ProgramOf, programFor } from './run-settings.ts'
import type { Server } from './servers.schema.ts'

export interface ObstacleDeps {
  readonly references: Pick<References, 'resolve'>
  readonly programOf: ProgramOf
  /** Undefined while it is not known where to search, and where a look could take for ever. */
  readonly findProgramNow: (...wanted: Parameters<FindProgram>) => ReturnType<FindProgram> | undefined
  /** Why the container of a server cannot be made, as far as the container engine has said. Starts no engine. */
  readonly containerProblem: (serverId: string, contained: Contained) => LastError | null
}

interface Contained extends Pick<Server, 'command' | 'args' | 'env' | 'cwd'> {
  readonly options: IsolationOptions
}

interface Look {
  readonly at: number
  readonly obstacle: LastError | null
}

type Wanted = Parameters<FindProgram>[0]

/** A reader sees what has changed on the disk within this time. */
const FRESH_MS = 3000
/** Many servers with different commands, each sought in many folders, do not hold up other requests. */
const MAX_LOOKS_PER_S = 50

/**
 * What would prevent the start of a server, found without starting anything: a reference without a value, a package that
 * is not installed, a working folder or a program that does not exist, an image that the container engine does not have.
 */
export class StartObstacles {
  readonly #deps: ObstacleDeps
  #looks = new WeakMap<Server, Look>()
  /** Servers with the same command in the same place need one look at the disk. */
  readonly #programs = new Map<string, Look>()
  #looksSince = 0
  #lookCount = 0

  constructor(deps: ObstacleDeps) {
    this.#deps = deps
  }

  /** The same object while it says the same. A look is not repeated within `freshMs`; with 0, it does not wait for its turn. */
  of(server: Server, freshMs = FRESH_MS): LastError | null {
    const known = this.#looks.get(server)
    const now = performance.now()
    if (known && now - known.at < freshMs) return known.obstacle
    const found = this.#look(server, now, freshMs === 0)
    if (found === 'later') return known?.obstacle ?? null
    const obstacle = known && isSame(known.obstacle, found) ? known.obstacle : found
    this.#looks.set(server, { at: now, obstacle })
    return obstacle
  }

  /** A secret or a package has changed. */
  forget(): void {
    this.#looks = new WeakMap()
  }

  #look(server: Server, now: number, isUrgent: boolean): LastError | null | 'later' {
    const { references, programOf, containerProblem } = this.#deps
    const resolved = references.resolve(server.id, server)
    if (!resolved.ok) return resolved.error
    const program = programFor(resolved.definition, programOf)
    if (!program.ok) return program.error
    const { env, cwd, isolation, isolation_options } = resolved.definition
    const { command, args } = program
    if (isolation === 'container')
      return containerProblem(server.id, { command, args, env, cwd, options: isolation_options })
    return this.#find({ command, env, cwd }, now, isUrgent)
  }

  /** One that must wait is looked at a second later. */
  #mayLook(now: number): boolean {
    if (now - this.#looksSince >= 1000) {
      this.#looksSince = now
      this.#lookCount = 0
    }
    return this.#lookCount < MAX_LOOKS_PER_S
  }

  #find(wanted: Wanted, now: number, isUrgent: boolean): LastError | null | 'later' {
    const { PATH, HOME, NVM_DIR } = wanted.env
    const key = JSON.stringify([wanted.command, wanted.cwd, PATH, HOME, NVM_DIR])
    const known = this.#programs.get(key)
    // With many commands each look is valid for longer, so that all of them have their turn.
    const freshMs = Math.max(FRESH_MS / 2, (this.#programs.size / MAX_LOOKS_PER_S) * 1200)
    if (known && now - known.at < (isUrgent ? FRESH_MS / 2 : freshMs)) return known.obstacle
    if (!this.#mayLook(now) && !isUrgent) return known ? known.obstacle : 'later'
    this.#lookCount += 1
    const found = this.#deps.findProgramNow(wanted)
    if (found === undefined) return null
    const obstacle = found.ok ? null : errorOf(found)
    if (this.#programs.size >= MAX_PROGRAMS) this.#programs.clear()
    this.#programs.set(key, { at: now, obstacle })
    return obstacle
  }
}

const MAX_PROGRAMS = 2000

const errorOf = ({ code, message, hint, action }: LastError): LastError => ({ code, message, hint, action })

const isSame = (one: LastError | null, other: LastError | null): boolean =>
  one?.code === other?.code && one?.message === other?.message && one?.hint === other?.hint
