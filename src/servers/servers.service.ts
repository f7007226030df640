import { invalidField } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import { secretsIn } from '../kernel/secrets/secrets.ts'
import { keepMaskedArgs, keepMaskedValues } from '../kernel/secrets/write-back.ts'
import { Turns } from '../kernel/turns.ts'
import type { Caller } from '../kernel/wire.ts'
import { within } from '../kernel/within.ts'
import type { CallRequest } from '../upstreams/calls.routes.ts'
import type { AskedRelay } from '../upstreams/calls.ts'
import type { Catalogues } from '../upstreams/catalogues.ts'
import { OFFER_DEFAULTS, offerOver, type Stats } from '../upstreams/server-fields.ts'
import { createRegistry, type ServerStore } from '../upstreams/server-registry.ts'
import { createCalls } from './calls.ts'
import type { Engine } from './engine.ts'
import { createLifecycle } from './lifecycle.ts'
import type { DesiredState } from './live.schema.ts'
import { DEFAULT_SETTINGS, needsRestart, type ProgramOf, planOf, settingsOver } from './run-settings.ts'
import type { Server, ServerInput, ServerPatch, ServerView } from './servers.schema.ts'
import { definitionOf, liveOf } from './view.ts'
import type { WishStore } from './wishes.ts'

/** What this room needs from the house. `store/` and `supervisor/` provide it, `service.ts` plugs it in. */
export interface Deps {
  readonly store: ServerStore<Server>
  readonly wishes: WishStore
  readonly engine: Engine
  readonly catalogues: Catalogues
  readonly linesDropped: (id: string) => number
  /** The agents whose files have an entry made from it. */
  readonly usedBy: (id: string) => string[]
  readonly packages: {
    readonly programOf: ProgramOf
    /** Which program of the package is meant; throws when that is unclear or there is no such package. */
    readonly binOf: (name: string, wanted: string | undefined) => string
  }
  readonly statsOf: (id: string) => Stats
  /** What the gateway calls the tools that it offers of a server, by their own names. */
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly now: () => number
}

/** Who lists waits so long for servers that were never seen; later their tools are told as a change. */
const MEET_MS = 2000
/** Lines that a process wrote before its end may be read a moment after it. */
const FORGET_AFTER_MS = 5000

export function createServers(deps: Deps) {
  const { engine, wishes, catalogues, secrets } = deps
  const registry = createRegistry({ ...deps, kind: 'stdio', noun: 'STDIO server', shown: definitionOf })
  /** One decision at a time per server; waiting for what follows from it is not part of it. */
  const turns = new Turns()
  const desiredOf = ({ id, start_mode }: Server): DesiredState =>
    wishes.desired(id) ?? (start_mode === 'manual' ? 'stopped' : 'running')
  const lifecycle = createLifecycle({ ...deps, list: registry.list, get: registry.get, desiredOf, turns })
  const { call, relay } = createCalls(deps)

  /** What a server does when nobody has asked for anything: sleep until it is called, or nothing. */
  function settle(server: Server): void {
    const { status } = engine.life(server.id).state
    const sleeps = server.start_mode === 'on_demand' && desiredOf(server) === 'running'
    if (status === 'stopped' && sleeps) void engine.sleep(server.id)
    else if (status === 'idle' && !sleeps) void engine.stop(server.id)
  }

  const registered = new Set<string>()

  function register(server: Server): void {
    registered.add(server.id)
    engine.register(server.id, planOf(server, deps.packages.programOf))
    settle(server)
  }

  function forget(id: string): void {
    registered.delete(id)
    catalogues.forget(id)
    wishes.forget(id)
  }

  /** A process keeps the secrets that it was started with until it ends. */
  async function restartWith(before: Server): Promise<void> {
    const owner = `former:${before.id}`
    secrets.set(owner, secretsIn(before))
    await engine.restart(before.id)
    setTimeout(() => secrets.delete(owner), FORGET_AFTER_MS).unref()
  }

  return {
    list: registry.list,
    get: registry.get,
    start: lifecycle.start,
    restart: lifecycle.restart,
    stop: lifecycle.stop,
    startEager: lifecycle.startEager,
    tools: lifecycle.tools,

    /** Call once, before anything else: what is stored becomes known to everybody who looks after it. */
    async takeOver(): Promise<void> {
      await registry.rememberSecrets()
      for (const server of await registry.list()) register(server)
    },

    has: (id: string): boolean => registered.has(id),

    /**
     * Somebody lists what these offer: those that sleep and were never seen are woken for it, once. Undefined when there
     * is nobody to wait for.
     */
    meet(ids: readonly string[]): Promise<unknown> | undefined {
      const unknown = ids.filter(
        (id) => registered.has(id) && !catalogues.of(id) && engine.life(id).state.status === 'idle',
      )
      return unknown.length === 0
        ? undefined
        : within(Promise.all(unknown.map((id) => engine.wake(id))), MEET_MS)
    },

    /** Where each is, for who follows the changes. */
    states: (): { server_id: string; type: 'stdio'; status: string }[] =>
      [...registered].map((server_id) => {
        const { status } = engine.life(server_id).state
        return { server_id, type: 'stdio', status }
      }),

    view(server: Server): ServerView {
      const life = engine.life(server.id)
      const [desired, catalogue] = [desiredOf(server), catalogues.of(server.id)]
      const [stats, linesDropped] = [deps.statsOf(server.id), deps.linesDropped(server.id)]
      const usedBy = deps.usedBy(server.id)
      return { ...definitionOf(server), ...liveOf({ life, desired, catalogue, stats, linesDropped, usedBy }) }
    },

    async add({ type: _, ...input }: ServerInput, by: Caller): Promise<Server> {
      const { env = {}, args = [], cwd = null, description = null, tags = [] } = input
      const kept = { env: keepMaskedValues('env', env, {}), args: keepMaskedArgs(args, []) }
      const settings = { ...settingsOver(DEFAULT_SETTINGS, input), ...offerOver(OFFER_DEFAULTS, input) }
      const { name, package: from = null } = input
      const command = from === null ? input.command : deps.packages.binOf(from, input.command)
      if (command === undefined) throw invalidField('/command', 'is needed, unless a package is named')
      const server = await registry.add(
        { name, command, package: from, ...kept, cwd, description, tags, ...settings },
        by,
      )
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
        if (after.start_mode !== before.start_mode) await wishes.setDesired(id, undefined, null)
        register(after)
        const { status } = engine.life(id).state
        const atWork = status === 'running' || status === 'starting' || status === 'backoff'
        if (atWork && needsRestart(before, after)) void restartWith(before)
        return after
      })
    },

    async remove(key: string, by: Caller): Promise<void> {
      const { id } = await registry.get(key)
      await turns.take(id, async () => {
        const server = await registry.get(id)
        await engine.remove(id)
        try {
          await registry.remove(id, by, forget)
        } catch (error) {
          register(server) // it is still there, only stopped
          throw error
        }
      })
    },

    /** Servers that run from a package. */
    async ofPackage(name: string): Promise<Server[]> {
      return (await registry.list()).filter((server) => server.package === name)
    },

    /** Another version is in use, or none: servers that run from it, or failed for want of it, are restarted. */
    async packageSwitched(name: string): Promise<void> {
      for (const server of (await registry.list()).filter((each) => each.package === name)) {
        await turns.take(server.id, async () => {
          register(server)
          const { state } = engine.life(server.id)
          const wasMissing = state.status === 'failed' && state.error.code === 'package_not_found'
          if (wasMissing || ['running', 'starting', 'backoff'].includes(state.status))
            void engine.restart(server.id)
        })
      }
    },

    /** The result as the tool server sent it. */
    call(key: string, asked: CallRequest) {
      const of = (server: Server) =>
        call(server, asked, (asked.timeout_s ?? server.timeouts.request_s) * 1000)
      const server = registry.peek(key)
      return server ? of(server) : registry.get(key).then(of)
    },

    relay: async (key: string, asked: AskedRelay) => relay(await registry.get(key), asked),
  }
}
export type Servers = ReturnType<typeof createServers>

function edited(current: Server, patch: ServerPatch): Partial<Server> {
  const { auto_start: _, start_mode: __, ...fields } = patch
  return {
    ...fields,
    ...settingsOver(current, patch),
    ...offerOver(current, patch),
    ...(patch.env && { env: keepMaskedValues('env', patch.env, current.env) }),
    ...(patch.args && { args: keepMaskedArgs(patch.args, current.args) }),
  }
}
