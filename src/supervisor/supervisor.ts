import type { ServerState } from '../kernel/server-state.ts'
import type { Exit } from './child.ts'
import { type Conversation, type Definition, launch, type Streams } from './launcher.ts'
import type { Reaper } from './reaper.ts'
import type { RestartRules } from './restart-policy.ts'
import { Runner, type StartOutcome } from './runner.ts'
import type { StartSlots } from './start-slots.ts'
import { DEFAULT_GRACES, type Graces } from './stop-ladder.ts'

interface Deps<C extends Conversation> {
  /** The newest definition: a restart takes what was changed meanwhile. */
  readonly definitionOf: (id: string) => Promise<Definition>
  readonly converse: (id: string, streams: Streams) => C
  /** `NAME=value`; each server adds its id to it. */
  readonly mark: string
  readonly reaper: Pick<Reaper, 'watch' | 'forget'>
  readonly slots: StartSlots
  readonly graces?: Graces
  readonly rules: RestartRules
  readonly onState: (id: string, state: ServerState, cause: string) => void
  readonly onLine: (id: string, text: string) => void
}

/** What is known of a server's life, besides its state. */
export interface Life<C> {
  readonly state: ServerState
  readonly restartCount: number
  readonly lastExit: (Exit & { readonly at: number }) | null
  /** While it runs. */
  readonly conversation: C | undefined
}

/** Who should run. One runner per server, made when it is first asked for. */
export class Supervisor<C extends Conversation> {
  readonly #deps: Deps<C>
  readonly #runners = new Map<string, { readonly runner: Runner; conversation: C | undefined }>()
  #closed = false

  constructor(deps: Deps<C>) {
    this.#deps = deps
  }

  start(id: string): Promise<StartOutcome> {
    if (this.#closed) {
      const error = { code: 'shutting_down', message: 'Toolroom is about to end', hint: null }
      return Promise.resolve({ ok: false, error })
    }
    return this.#entry(id).runner.start()
  }

  async stop(id: string): Promise<void> {
    await this.#runners.get(id)?.runner.stop()
  }

  life(id: string): Life<C> {
    const entry = this.#runners.get(id)
    if (!entry)
      return { state: { status: 'stopped' }, restartCount: 0, lastExit: null, conversation: undefined }
    const { runner, conversation } = entry
    const { state, restartCount, lastExit } = runner
    return {
      state,
      restartCount,
      lastExit,
      conversation: state.status === 'running' ? conversation : undefined,
    }
  }

  /** Stops it and forgets everything about it. */
  async remove(id: string): Promise<void> {
    await this.stop(id)
    this.#runners.delete(id)
  }

  /** Everything down, all at once. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#runners.values()].map(({ runner }) => runner.stop()))
  }

  #entry(id: string) {
    const known = this.#runners.get(id)
    if (known) return known
    const { slots, reaper, rules, onState, onLine, graces = DEFAULT_GRACES } = this.#deps
    const runner = new Runner({
      rules: () => rules,
      slots,
      onState: (state, cause) => onState(id, state, cause),
      now: Date.now,
      random: Math.random,
      launch: async () =>
        launch({
          definition: await this.#deps.definitionOf(id),
          mark: `${this.#deps.mark}/${id}/`, // closed, or the mark of `a` would be the beginning of that of `ab`
          graces,
          reaper,
          onLine: (text) => onLine(id, text),
          converse: (streams) => {
            entry.conversation = this.#deps.converse(id, streams)
            return entry.conversation
          },
        }),
    })
    const entry = { runner, conversation: undefined as C | undefined }
    this.#runners.set(id, entry)
    return entry
  }
}
