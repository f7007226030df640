import { delimiter } from 'node:path'
import { redactText } from '../kernel/secrets/known-secrets.ts'
import type { LastError, ServerState } from '../kernel/server-state.ts'
import { VERSION } from '../kernel/version.ts'
import type { ClientEvents } from '../mcp/client/mcp-client.ts'
import type { InstanceOwner } from '../mcp/protocol/call-options.ts'
import { StdioClient } from '../mcp/transports/stdio/stdio-client.ts'
import type { Catalogues } from '../servers/shared/catalogues.ts'
import { type Engine, type Instance, InstancePool } from '../servers/stdio/instance-pool.ts'
import { Places } from '../supervisor/places/places.ts'
import type { Platform } from '../supervisor/platform/platform.ts'
import { marksOf } from '../supervisor/process/process-mark.ts'
import { type Command, runCommand } from '../supervisor/process/run-command.ts'
import { ShellPath } from '../supervisor/process/shell-path.ts'
import { type FindProgram, programFinder } from '../supervisor/process/start-child.ts'
import { StartSlots } from '../supervisor/start-slots.ts'
import { Supervisor } from '../supervisor/supervisor.ts'
import type { Basics } from './basics.ts'
import { tryOutWith } from './try-out.ts'

/** How many servers start at once. A server that hangs frees its slot after `SLOT_MS`. */
const SLOTS = 4
const SLOT_MS = 2000

interface Deps {
  readonly platform: Platform
  readonly catalogues: Catalogues
  /** Whether a client follows the resources of servers, which are then read more often. */
  readonly isWatched: () => boolean
}

export type Runtime = Awaited<ReturnType<typeof openRuntime>>

/** Runs STDIO servers: processes with MCP clients. First ends the processes that a killed service left behind. */
export async function openRuntime(
  { config, folder, facts, secrets, log, lock }: Basics,
  { platform, catalogues, isWatched }: Deps,
) {
  const clean = (text: string) => redactText(text, secrets)
  const marks = marksOf(folder)
  const mark = marks.ofRun
  const groups = await platform.openProcessGroups({
    marks,
    wasKilled: lock.wasKilled,
    onTrouble: (message) => log.error(message),
  })
  const { leftovers } = groups
  if (leftovers > 0) log.warn({ processes: leftovers }, 'ended processes that an earlier run had left')
  const shellPath = new ShellPath({
    run: (command) => runCommand(command, { mark, groups, findProgram: programFinder(platform) }),
    shell: platform.loginShell(),
  })
  const findProgram = programFinder(platform, () => shellPath.added())
  const starting = {
    groups,
    findProgram: async (...wanted: Parameters<FindProgram>) => {
      await shellPath.ready()
      return findProgram(...wanted)
    },
  }
  const hidden = [folder, config.folders.config]
  const sandboxUser = config.sandbox_user
  const places = new Places({ ...starting, marks, folder, hidden, sandboxUser })
  const endContainers = async () => {
    const containers = await places.endLeftovers()
    if (containers > 0) log.warn({ containers }, 'ended containers that an earlier run had left')
  }
  void endContainers().catch((error) =>
    log.warn({ error }, 'containers of an earlier run could not be ended'),
  )
  const slots = new StartSlots(SLOTS, SLOT_MS)
  const engine: Engine = new Supervisor<StdioClient>({
    mark,
    places,
    slots,
    clean,
    onState: (id, state, cause) => {
      const level = state.status === 'backoff' || state.status === 'failed' ? 'warn' : 'info'
      const instance = instances.get(id)
      const server_id = instance?.serverId ?? id
      const { status } = state
      const which = instance && { instance: instance.number, agent_type: instance.owner.agentType }
      const subject = instance ? 'server instance' : 'server'
      log[level]({ server_id, ...which, status, cause }, `${subject} ${status}: ${cause}`)
      const { lastError, client } = engine.life(id)
      const tried = triedIn(state, lastError, client)
      if (tried) facts.publish('server_tried', { server_id, process_id: id, ...tried })
      if (instance) instances.onState(instance, state.status)
      else facts.publish('server_status', { server_id, state, cause, error: lastError })
    },
    onLine: (id, stream, text, cut) => {
      const { serverId: server_id = id, number: instance } = instances.get(id) ?? {}
      facts.publish('server_line', { server_id, stream, text, cut, instance })
    },
    onResources: (id) => {
      const server_id = instances.get(id)?.serverId ?? id
      const resources = instances.resourcesOf(server_id)
      if (resources) facts.publish('server_resources', { server_id, resources })
    },
    isWatched,
    connect: (id, { timeouts }, streams) => {
      const instance = instances.get(id)
      const known = catalogues.of(instance?.serverId ?? id)
      return new StdioClient({
        ...streams,
        version: VERSION,
        startMs: timeouts.start_s * 1000,
        knownVersion: known?.protocol_version ?? null,
        clean,
        ...(instance ? eventsOfInstance(instance) : eventsOfShared(id)),
      })
    },
  })
  const eventsOfShared = (id: string): ClientEvents => ({
    onTools: (list, { era: _, ...handshake }) => {
      catalogues.update(id, { ...handshake, ...list })
      if (engine.statusOf(id) === 'running')
        // a list that could not be had at the start
        facts.publish('server_tried', { server_id: id, process_id: id, error: null, crashed: false })
    },
    onList: (kind, items) => catalogues.updateList(id, kind, items),
    onNotification: (method, params, client_id) =>
      facts.publish('server_note', { server_id: id, method, params, client_id }),
    // With the sharing auto, their next calls get a process of their own, although they have used this one.
    onSeveralClients: (clients) => {
      for (const { shares } of clients) shares?.delete(id)
    },
    onDependency: (dependency) => {
      if (catalogues.learn(id, dependency))
        log.info({ server_id: id, dependency }, 'the server depends on its client')
    },
  })
  const instances: InstancePool = new InstancePool({
    engine,
    onChange: (server_id) => facts.publish('server_instances', { server_id }),
  })
  return {
    engine,
    /** The processes that run for one client alone. */
    instances,
    /** The value that marks the environment of every process that Toolroom starts. */
    mark,
    platform,
    places,
    /** Runs a program until it exits. */
    run: (command: Command) => runCommand(command, { mark, ...starting }),
    /** Starts a definition once, lists its tools and ends it. */
    tryOut: tryOutWith({ mark, places, clean, slots }),
    findProgram,
    /** Undefined while it is not known where to search, and where a look could take for ever. */
    findProgramNow: (wanted: Parameters<FindProgram>[0]) => {
      const { command, cwd, env } = wanted
      const isAnswered = !platform.mayNotAnswer([command, cwd ?? '', ...(env.PATH ?? '').split(delimiter)])
      return shellPath.isReady && isAnswered ? findProgram(wanted) : undefined
    },
    /** The PATH of the user's login shell. */
    shellPath: () => shellPath.ask(),
    close: async (): Promise<void> => {
      await shellPath.close()
      await engine.close()
      await groups.close()
    },
  }
}

/** How a start has gone. Undefined while it goes on, and after an end that was requested. */
function triedIn(
  { status }: ServerState,
  lastError: LastError | null,
  client: StdioClient | undefined,
): { readonly error: LastError | null; readonly crashed: boolean } | undefined {
  if (status === 'running') return { error: client?.listError ?? null, crashed: false }
  if (status === 'starting' || status === 'stopping' || !lastError) return undefined
  return { error: lastError, crashed: status !== 'failed' }
}

const TOOLS_CHANGED = 'notifications/tools/list_changed'

/** An instance runs for one client alone, which gets everything that it sends. */
function eventsOfInstance(instance: Instance): ClientEvents & { profile: InstanceOwner['profile'] } {
  const { serverId, owner } = instance
  const { profile, ask, notify } = owner
  return {
    profile,
    ask,
    onTools: (list, { era: _, ...handshake }) => {
      const isFirst = instance.catalogue === undefined
      instance.catalogue = { ...handshake, ...list }
      if (!isFirst) notify(serverId, TOOLS_CHANGED, undefined, undefined)
    },
    onNotification: (method, params, clientId) => notify(serverId, method, params, clientId),
  }
}
