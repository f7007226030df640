import { Turns } from '../../kernel/async/turns.ts'
import { invalidField } from '../../kernel/errors.ts'
import { secretsIn } from '../../kernel/secrets/secrets.ts'
import { keepMaskedArgs, keepMaskedCommand, keepMaskedValues } from '../../kernel/secrets/write-back.ts'
import type { Isolation, ServerState } from '../../kernel/server-state.ts'
import type { Caller } from '../../kernel/wire.ts'
import { secretNamesIn } from '../shared/definition/references.ts'
import type { Diagnosis } from '../shared/diagnosis.ts'
import { changedOffer, OFFER_DEFAULTS, type Stats } from '../shared/server-fields.ts'
import { createRegistry, type RegistryDeps } from '../shared/server-registry.ts'
import { listText, ViewTexts } from '../shared/view-texts.ts'
import type { TrialInput, WallsTrialInput } from './actions/actions.schema.ts'
import type { Probe } from './actions/address-check.ts'
import { diagnose, type FindProgram, type PlaceAbilities } from './actions/diagnose.ts'
import type { Runtime } from './actions/runtimes.schema.ts'
import { runtimesOf } from './actions/runtimes.ts'
import { createTrials, type TryOut } from './actions/trial.ts'
import { tryIsolation } from './actions/try-isolation.ts'
import type { DesiredStates } from './desired-states.ts'
import type { Instances } from './instances.ts'
import { checkIsolation } from './isolation.ts'
import { createLifecycle } from './lifecycle.ts'
import type { DesiredState } from './live.schema.ts'
import { DEFAULT_SETTINGS, needsRestart, type ProgramOf, planOf, settingsOver } from './run-settings.ts'
import type { Server, ServerInput, ServerPatch, ServerView } from './servers.schema.ts'
import { StartedWith } from './started-with.ts'
import { StdioUpstream, type StdioUpstreamDeps } from './stdio-upstream.ts'
import {
  type Current,
  definitionOf,
  instanceViews,
  liveOf,
  publicDefinitionOf,
  sharedInstance,
  sharingReason,
  shownIn,
  uptimeOf,
} from './view.ts'

/** What this room needs. `store/` and `supervisor/` provide it, `compose/service.ts` connects them. */
interface Deps extends RegistryDeps<Server> {
  readonly desiredStates: DesiredStates
  readonly instances: Instances
  readonly linesDropped: (id: string) => number
  /** The agents whose files have an entry for the server. The same array until one of these files has changed. */
  readonly usedBy: (id: string) => readonly string[]
  readonly packages: {
    readonly programOf: ProgramOf
    /** The program of the package to run. Throws when there is no such program, or several and no name is given. */
    readonly binOf: (name: string, program: string | undefined) => string
  }
  readonly statsOf: (id: string) => Stats
  /** The isolation of new servers. */
  readonly defaultIsolation: Isolation['isolation']
  readonly findProgram: FindProgram
  readonly shellPath: () => Promise<string | undefined>
  readonly probe: Probe
  readonly placeAbilities: PlaceAbilities
  readonly tryOut: TryOut
  /** Toolroom's own folders, which no server in isolation sees. */
  readonly ownFolders: readonly string[]
  /** The gateway's names of a server's tools, by their own names. */
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
}

/** The last lines of a process may be read a moment after its end. */
const FORGET_AFTER_MS = 5000
/** What an install of the package repairs. */
const MISSING: readonly string[] = ['package_not_found', 'native_part_missing']
const NOT_STARTING: readonly ServerState['status'][] = ['stopped', 'stopping']

export function createServers(deps: Deps) {
  const { instances, desiredStates, catalogues, secrets, calls, facts } = deps
  const engine = instances
  const startedWith = new StartedWith(deps.references, instances)
  const onAgentNote: StdioUpstreamDeps['onAgentNote'] = (agent_type, server_id, method, params, client_id) =>
    facts.publish('server_note', { server_id, method, params, client_id, agent_type })
  const registry = createRegistry(deps, {
    kind: 'stdio',
    noun: 'STDIO server',
    shown: definitionOf,
    upstreamFor: (server: Server) =>
      new StdioUpstream(server, { instances, catalogues, calls, onAgentNote, isStopped }),
  })
  /** Serializes the changes of each server. The restarts that follow from them are not awaited. */
  const turns = new Turns()
  const desiredOf = ({ id, start_mode }: Server): DesiredState =>
    desiredStates.desired(id) ?? (start_mode === 'manual' ? 'stopped' : 'running')
  /** Only a person starts it again. The desired state is not stored when the disk is full, hence the status. */
  const isStopped = (server: Server): boolean =>
    desiredOf(server) === 'stopped' && NOT_STARTING.includes(engine.life(server.id).state.status)
  const lifecycle = createLifecycle({
    ...deps,
    engine,
    list: registry.list,
    get: registry.get,
    desiredOf,
    turns,
  })

  const sleeps = (server: Server): boolean =>
    server.start_mode === 'on_demand' && desiredOf(server) === 'running'

  /** Puts a stopped server to sleep, or stops a sleeping one, as its start mode and the user's request require. */
  function settle(server: Server): void {
    const { status } = engine.life(server.id).state
    if (status === 'stopped' && sleeps(server)) void engine.sleep(server.id)
    else if (status === 'idle' && !sleeps(server)) void engine.stop(server.id)
  }

  function register(server: Server): void {
    const resolveFor = (processId: string) => startedWith.resolve(server, processId)
    engine.register(server.id, planOf(server, deps.packages.programOf, resolveFor))
    settle(server)
  }

  /** On-demand servers that failed for want of this secret are asleep again. */
  async function secretChanged(name: string): Promise<void> {
    for (const server of await registry.list()) {
      const { state } = engine.life(server.id)
      const wasMissing = state.status === 'failed' && state.error.code === 'missing_setting'
      if (wasMissing && sleeps(server) && secretNamesIn(server).includes(name)) void engine.sleep(server.id)
    }
  }
  facts.on('secret_changed', ({ name }) => void secretChanged(name).catch(() => {})) // a start repairs them, too

  const isActive = (id: string): boolean =>
    ['running', 'starting', 'backoff'].includes(engine.life(id).state.status)

  /** The process has the old secrets until it ends, so they stay masked until then. */
  async function restartMasking(before: Server): Promise<void> {
    const owner = `former:${before.id}`
    secrets.set(owner, secretsIn(before))
    await engine.restart(before.id)
    setTimeout(() => secrets.delete(owner), FORGET_AFTER_MS).unref()
  }

  const texts = { owner: new ViewTexts<Server>(), public: new ViewTexts<Server>() }
  const currentOf = (server: Server): Current => ({
    life: engine.life(server.id),
    resources: instances.resourcesOf(server.id),
    instances: instanceViews(instances.of(server.id), engine),
    desired: desiredOf(server),
    catalogue: catalogues.of(server.id),
    stats: deps.statsOf(server.id),
    linesDropped: deps.linesDropped(server.id),
    usedBy: deps.usedBy(server.id),
    restartNeeded: startedWith.isOutdated(server),
  })
  const viewOf = (server: Server, current: Current, isOwner: boolean) => ({
    ...(isOwner ? definitionOf(server) : publicDefinitionOf(server)),
    ...liveOf(current, server.restart),
  })

  const { programOf, binOf } = deps.packages
  const tryOut = createTrials({ ...deps, programOf })

  /** The fields of an input that decide what a start runs, and how. */
  function startedBy(input: Omit<TrialInput, 'type'>) {
    const { env = {}, args = [], cwd = null, package: from = null } = input
    const kept = { env: keepMaskedValues('env', env, {}), args: keepMaskedArgs(args, []) }
    const given = input.command && keepMaskedCommand(input.command, undefined)
    const command = from === null ? given : binOf(from, given)
    if (command === undefined) throw invalidField('/command', 'is required unless package is set')
    const settings = settingsOver({ ...DEFAULT_SETTINGS, isolation: deps.defaultIsolation }, input)
    const started = { command, package: from, ...kept, cwd, ...settings }
    checkIsolation(started)
    return started
  }

  const ofPackage = async (name: string): Promise<Server[]> =>
    (await registry.list()).filter((server) => server.package === name)

  return {
    list: registry.list,
    get: registry.get,
    call: registry.call,
    async load(): Promise<void> {
      for (const server of await registry.load()) register(server)
    },
    start: lifecycle.start,
    restart: lifecycle.restart,
    stop: lifecycle.stop,
    startWithToolroom: lifecycle.startWithToolroom,
    tools: lifecycle.tools,

    /** `isOwner`: the caller has the token. */
    view: (server: Server, isOwner: boolean): ServerView => viewOf(server, currentOf(server), isOwner),

    /** All views as JSON. The uptime is the last member, so that the rest can be reused. */
    async listText(isOwner: boolean): Promise<string> {
      const items = (await registry.list()).map((server) => {
        const current = currentOf(server)
        const withoutUptime = () => ({ ...viewOf(server, current, isOwner), uptime_s: undefined })
        const text = texts[isOwner ? 'owner' : 'public'].textOf(server, shownIn(current), withoutUptime)
        return `${text.slice(0, -1)},"uptime_s":${uptimeOf(current.life)}}`
      })
      return listText(items)
    },

    async add({ type: _, ...input }: ServerInput, by: Caller): Promise<Server> {
      const { name, description = null, tags = [] } = input
      const offer = changedOffer(OFFER_DEFAULTS, input)
      const server = await registry.add({ name, ...startedBy(input), description, tags, ...offer }, by)
      register(server)
      return server
    },

    async change(
      key: string,
      revision: number | 'unknown' | undefined,
      patch: ServerPatch,
      by: Caller,
    ): Promise<Server> {
      const { id } = await registry.get(key)
      return turns.take(id, async () => {
        const before = await registry.get(id)
        const after = await registry.change(id, revision, (current) => edited(current, patch), by)
        if (after.start_mode !== before.start_mode) {
          const keepsRunning = after.start_mode === 'manual' && isActive(id)
          await desiredStates.setDesired(id, keepsRunning ? 'running' : undefined, null)
        }
        register(after)
        if (after.start_mode !== before.start_mode) facts.publish('server_desired', { server_id: id })
        if (needsRestart(before, after)) {
          if (isActive(id)) void restartMasking(before)
          else if (engine.life(id).state.status === 'failed' && sleeps(after)) void engine.sleep(id)
        }
        return after
      })
    },

    async remove(key: string, by: Caller): Promise<void> {
      const { id } = await registry.get(key)
      await turns.take(id, async () => {
        const server = await registry.get(id)
        await engine.remove(id)
        try {
          await registry.remove(id, by, desiredStates.forget)
        } catch (error) {
          register(server) // it still exists, but is stopped
          throw error
        }
      })
    },

    ofPackage,
    reveal: registry.reveal,
    trial: ({ type: _, ...input }: TrialInput) => tryOut(startedBy(input)),
    tryIsolation: async (key: string, input: WallsTrialInput) =>
      tryIsolation(await registry.get(key), input, { tryOut, secrets: deps.secrets, own: deps.ownFolders }),

    async diagnose(key: string): Promise<Diagnosis> {
      const server = await registry.get(key)
      const { life, instances: own, catalogue } = currentOf(server)
      const toolCount = catalogue?.tools.length ?? null
      const current = { life, toolCount, sharingReason: sharingReason(catalogue) }
      const { findProgram, shellPath, references, probe, placeAbilities } = deps
      return diagnose(
        server,
        { ...current, instances: [...sharedInstance(life), ...own] },
        { findProgram, shellPath, programOf, references, probe, placeAbilities, tryOut },
      )
    },

    runtimes: async (): Promise<Runtime[]> => runtimesOf(await registry.list(), deps),

    /** Restarts the servers of a package whose version has changed, also those that failed because it was missing. */
    async packageSwitched(name: string): Promise<void> {
      for (const server of await ofPackage(name)) {
        await turns.take(server.id, async () => {
          register(server)
          const { state } = engine.life(server.id)
          const wasMissing = state.status === 'failed' && MISSING.includes(state.error.code)
          if (wasMissing || isActive(server.id)) void engine.restart(server.id)
        })
      }
    },
  }
}
export type Servers = ReturnType<typeof createServers>

function edited(current: Server, patch: ServerPatch): Partial<Server> {
  const { auto_start: _, start_mode: __, ...fields } = patch
  const next = {
    ...fields,
    ...settingsOver(current, patch),
    ...changedOffer(current, patch),
    ...(patch.command && { command: keepMaskedCommand(patch.command, current.command) }),
    ...(patch.env && { env: keepMaskedValues('env', patch.env, current.env) }),
    ...(patch.args && { args: keepMaskedArgs(patch.args, current.args) }),
  }
  checkIsolation({ ...current, ...next })
  return next
}
