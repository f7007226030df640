import type { Caller } from '../../kernel/rest-parts.ts'
import { secretsIn } from '../../kernel/secrets/mask-secrets.ts'
import type { Plan } from '../../kernel/server-plan.ts'
import { secretNamesIn } from '../shared/definition/definition-references.ts'
import { npxPackage } from '../shared/definition/npx-package.ts'
import { type Allows, allowsAll, isHeld, keysOf } from '../shared/definition/outgoing.ts'
import type { Diagnosis } from '../shared/diagnosis.ts'
import type { Stats } from '../shared/server-fields.ts'
import { changedOffer, OFFER_DEFAULTS } from '../shared/tool-settings.ts'
import type { Trial } from '../shared/tries.ts'
import { listText, ViewTexts } from '../shared/view-json-cache.ts'
import type { Runtime, TrialInput } from './actions/actions.schema.ts'
import { type DiagnosisDeps, diagnose } from './actions/diagnose.ts'
import type { IsolationTrialInput } from './actions/isolation-trial.schema.ts'
import { runtimesOf } from './actions/runtimes.ts'
import { createTrials, type TryOut } from './actions/trial.ts'
import { tryIsolation } from './actions/try-isolation.ts'
import { edited, type InputDeps, runBy, startedBy } from './edit-server.ts'
import type { ServerLife } from './instance-pool.ts'
import { type LifecycleDeps, ServerLifecycle } from './lifecycle.ts'
import { needsRestart, type ProgramOf, planOf } from './run-settings.ts'
import type { Server, ServerInput, ServerPatch, ServerView } from './servers.schema.ts'
import { type ObstacleDeps, StartObstacles } from './start-obstacles.ts'
import { StartedWith } from './started-with.ts'
import { StdioUpstream } from './stdio-upstream.ts'
import {
  definitionOf,
  instanceViews,
  judgeStdio,
  type Shown,
  sharedInstance,
  sharingReason,
  shownLife,
  uptimeOf,
  viewOf,
} from './stdio-view.ts'

interface Deps
  extends LifecycleDeps,
    InputDeps,
    Pick<DiagnosisDeps, 'findProgram' | 'shellPath' | 'probe' | 'placeAbilities'>,
    Pick<ObstacleDeps, 'findProgramNow' | 'containerProblem'> {
  readonly linesDropped: (id: string) => number
  /** The agents whose files have an entry for the server. The same array until one of these files has changed. */
  readonly usedBy: (id: string) => readonly string[]
  readonly packages: InputDeps['packages'] & {
    readonly programOf: ProgramOf
    /** The installed version. Null if the package is not installed. */
    readonly versionOf: (name: string) => string | null
  }
  readonly statsOf: (id: string) => Stats
  readonly tryOut: TryOut
  /** Toolroom's own folders, which no isolated server sees. */
  readonly ownFolders: readonly string[]
}

/** The last lines of a process may be read a moment after its end. */
const FORGET_AFTER_MS = 5000
/** What an install of the package repairs. */
const MISSING: readonly string[] = ['package_not_found', 'native_part_missing']
const ACTIVE: readonly string[] = ['running', 'starting', 'backoff']
/** No process of it exists, and none is about to. */
const AT_REST: readonly string[] = ['idle', 'stopped', 'failed']
/** Notices need no look at the disk every second. */
const NOTICED_WITHIN_MS = 30_000

/** All STDIO servers, and what they are shown and started from. */
export class Servers extends ServerLifecycle<Deps> {
  protected readonly kind = 'stdio'
  protected readonly noun = 'STDIO server'
  readonly #startedWith: StartedWith
  readonly #tryOut: ReturnType<typeof createTrials>
  readonly #obstacles: StartObstacles
  readonly #texts = { owner: new ViewTexts<Server>(), public: new ViewTexts<Server>() }

  constructor(deps: Deps) {
    super(deps)
    const { facts, packages } = deps
    const { programOf, versionOf } = packages
    const recordOf = (id: string) => this.record(id)
    this.#tryOut = createTrials({ ...deps, programOf, versionOf })
    this.#obstacles = new StartObstacles({ ...deps, programOf })
    this.#startedWith = new StartedWith({ ...deps, versionOf, recordOf, obstacles: this.#obstacles })
    facts.on('server_tried', (tried) => this.#startedWith.tried(tried))
    // A server that is not put to sleep here is still started by a person.
    facts.on('secret_changed', ({ name }) => void this.#secretChanged(name).catch(() => {}))
  }

  protected shown(server: Server) {
    return definitionOf(server)
  }

  protected digestOf(server: Server): string {
    return this.#startedWith.digestOf(server)
  }

  protected override recordTrial(id: string, digest: string, trial: Trial): void {
    this.#startedWith.record(id, digest, trial, trial.at)
  }

  protected upstreamFor(server: Server): StdioUpstream {
    const { engine, instances, catalogues, calls, facts } = this.deps
    return new StdioUpstream(server, {
      engine,
      instances,
      catalogues,
      calls,
      planOf: (current) => this.#planOf(current),
      isStopped: (current) => this.isStopped(current),
      judge: (current) => judgeStdio(this.#judgedOf(current, engine.life(current.id), NOTICED_WITHIN_MS)),
      onAgentNote: (agent_type, server_id, method, params, client_id) =>
        facts.publish('server_note', { server_id, method, params, client_id, agent_type }),
    })
  }

  protected forget(id: string): void {
    this.deps.desiredStates.forget(id)
  }

  async load(): Promise<void> {
    for (const server of await this.loadRecords()) this.#register(server)
  }

  /** `isOwner`: the caller has the token. */
  view(server: Server, isOwner: boolean): ServerView {
    const life = this.deps.engine.life(server.id)
    return { ...viewOf(server, this.#shownOf(server, life), isOwner), uptime_s: uptimeOf(life) }
  }

  /** All views as JSON. The uptime is the last member, so that the rest can be reused. */
  async listText(isOwner: boolean): Promise<string> {
    const texts = this.#texts[isOwner ? 'owner' : 'public']
    const items = (await this.list()).map((server) => {
      const life = this.deps.engine.life(server.id)
      const text = texts.textOf(server, this.#shownOf(server, life), (shown) =>
        viewOf(server, shown, isOwner),
      )
      return `${text.slice(0, -1)},"uptime_s":${uptimeOf(life)}}`
    })
    return listText(items)
  }

  /** `allows`: of text that others have written, only what a person was shown. */
  async add(
    { type: _, agents, ...input }: ServerInput,
    by: Caller,
    allows: Allows = allowsAll,
  ): Promise<Server> {
    const { name, description = null, tags = [] } = input
    const offer = changedOffer(OFFER_DEFAULTS, input)
    const fields = { name, ...startedBy(input, this.deps), description, tags, ...offer }
    return this.deps.adding(agents, by, async () => {
      const server = await this.insert(fields, by, allows)
      this.#register(server)
      return server
    })
  }

  async change(
    key: string,
    revision: number | 'unknown' | undefined,
    { allow_outgoing, ...patch }: ServerPatch,
    by: Caller,
    allows?: Allows,
  ): Promise<Server> {
    const { engine, instances, desiredStates, facts } = this.deps
    const { id } = await this.get(key)
    return this.turns.take(id, async () => {
      const before = await this.get(id)
      const after = await this.edit(
        id,
        revision,
        (current) => edited(current, runBy(current, patch, this.deps), allows !== undefined),
        by,
        allows ?? allow_outgoing,
      )
      const isNewMode = after.start_mode !== before.start_mode
      if (isNewMode) {
        const keepsRunning = after.start_mode === 'manual' && this.#isActive(id)
        await desiredStates.setDesired(id, keepsRunning ? 'running' : undefined, null)
      }
      this.#register(after)
      if (isHeld(after) && !isHeld(before)) void this.#endMasking(before, () => instances.stop(id))
      if (isNewMode || isHeld(before) !== isHeld(after)) facts.publish('server_desired', { server_id: id })
      if (needsRestart(before, after) && !isHeld(after)) {
        if (this.#isActive(id)) void this.#endMasking(before, () => instances.restart(id))
        else if (engine.statusOf(id) === 'failed' && this.#sleeps(after)) void engine.sleep(id)
      }
      return after
    })
  }

  async remove(key: string, by: Caller): Promise<void> {
    const { id } = await this.get(key)
    await this.turns.take(id, async () => {
      const server = await this.get(id)
      await this.deps.instances.remove(id)
      try {
        await this.delete(id, by)
      } catch (error) {
        this.#register(server) // it still exists, but is stopped
        throw error
      }
    })
  }

  async trial({ type: _, ...input }: TrialInput) {
    const tried = startedBy(input, this.deps)
    const report = await this.#tryOut({ ...tried, outgoing_allowed: keysOf(tried, allowsAll) })
    await this.adoptTrials()
    return report
  }

  async tryIsolation(key: string, input: IsolationTrialInput) {
    const { secrets, ownFolders: own } = this.deps
    return tryIsolation(await this.get(key), input, { tryOut: this.#tryOut, secrets, own })
  }

  async diagnose(key: string): Promise<Diagnosis> {
    const { engine, instances, catalogues, packages } = this.deps
    const server = await this.get(key)
    const life = engine.life(server.id)
    const catalogue = catalogues.of(server.id)
    const current = {
      life,
      instances: [...sharedInstance(life), ...instanceViews(instances.of(server.id), engine)],
      toolCount: catalogue?.tools.length ?? null,
      sharingReason: sharingReason(catalogue),
    }
    const tryOut: DiagnosisDeps['tryOut'] = async (tried) => {
      const digest = this.digestOf(server)
      const report = await this.#tryOut(tried)
      this.#startedWith.record(server.id, digest, { error: report.error, crashed: !report.ok })
      return report
    }
    return diagnose(server, current, { ...this.deps, programOf: packages.programOf, tryOut })
  }

  async runtimes(): Promise<Runtime[]> {
    return runtimesOf(await this.list(), this.deps)
  }

  async ofPackage(name: string): Promise<Server[]> {
    return (await this.list()).filter((server) => server.package === name)
  }

  /** The servers that download a package with npx at each start, and could run an installed one. */
  async startedWithNpx(name: string): Promise<Server[]> {
    return (await this.list()).filter(
      (server) => server.isolation !== 'container' && npxPackage(server)?.name === name,
    )
  }

  /** Restarts the servers of a package whose version has changed, also those that failed because it was missing. */
  async packageSwitched(name: string): Promise<void> {
    const { engine, instances } = this.deps
    this.#obstacles.forget()
    for (const server of await this.ofPackage(name)) {
      this.compareTry(server)
      await this.turns.take(server.id, async () => {
        this.#register(server)
        const { state } = engine.life(server.id)
        const wasMissing = state.status === 'failed' && MISSING.includes(state.error.code)
        if (wasMissing || this.#isActive(server.id)) void instances.restart(server.id)
      })
    }
  }

  #judgedOf(server: Server, life: ServerLife, freshMs?: number) {
    const { catalogues, tries } = this.deps
    return {
      ...shownLife(life),
      desired: this.desiredOf(server),
      catalogue: catalogues.of(server.id),
      lastTry: tries.of(server.id),
      obstacle: AT_REST.includes(life.state.status) ? this.#obstacles.of(server, freshMs) : null,
    }
  }

  #shownOf(server: Server, life: ServerLife): Shown {
    const { engine, instances, statsOf, linesDropped, usedBy } = this.deps
    const { id } = server
    return {
      ...this.#judgedOf(server, life),
      instances: instanceViews(instances.of(id), engine),
      stats: statsOf(id),
      linesDropped: linesDropped(id),
      usedBy: usedBy(id),
      restartNeeded: this.#startedWith.isOutdated(server),
    }
  }

  #register(server: Server): void {
    this.deps.engine.register(server.id, this.#planOf(server))
    this.#settle(server)
  }

  #planOf(server: Server): Plan {
    const resolveFor = (processId: string) => this.#startedWith.resolve(server, processId)
    return planOf(server, this.deps.packages.programOf, resolveFor)
  }

  /** Puts a stopped server to sleep, or stops a sleeping one, as its start mode and the user's request require. */
  #settle(server: Server): void {
    const { engine, instances } = this.deps
    const status = engine.statusOf(server.id)
    if (status === 'stopped' && this.#sleeps(server)) void engine.sleep(server.id)
    else if (status === 'idle' && !this.#sleeps(server)) void instances.stop(server.id)
  }

  #sleeps(server: Server): boolean {
    return server.start_mode === 'on_demand' && this.desiredOf(server) === 'running'
  }

  #isActive(id: string): boolean {
    return ACTIVE.includes(this.deps.engine.statusOf(id))
  }

  /** On-demand servers that failed because this secret was missing are asleep again. */
  async #secretChanged(name: string): Promise<void> {
    const { engine } = this.deps
    this.#obstacles.forget()
    for (const server of await this.list()) {
      if (!secretNamesIn(server).includes(name)) continue
      this.compareTry(server)
      const { state } = engine.life(server.id)
      const wasMissing = state.status === 'failed' && state.error.code === 'missing_setting'
      if (wasMissing && this.#sleeps(server)) void engine.sleep(server.id)
    }
  }

  /** The process has the old secrets until it ends, so they stay masked until then. */
  async #endMasking(before: Server, end: () => Promise<unknown>): Promise<void> {
    const { secrets } = this.deps
    const owner = `former:${before.id}`
    secrets.set(owner, secretsIn(before))
    await end()
    setTimeout(() => secrets.delete(owner), FORGET_AFTER_MS).unref()
  }
}
