import { removeStaleTemps } from '../kernel/durable-file.ts'
import type { Caller } from '../kernel/wire.ts'
import type { AgentSummary, AgentView, EffectiveEntry, EntryView } from './agents.schema.ts'
import type { Agent } from './catalogue/catalogue.schema.ts'
import { AGENTS } from './catalogue/catalogue.ts'
import type { Definition } from './catalogue/definition.ts'
import { detect } from './catalogue/detect.ts'
import { createEdit, type EditDeps } from './edit/edit.service.ts'
import { createGatewayConnection, type GatewayKeys } from './edit/gateway-connection.ts'
import { recordOf } from './edit/ownership.ts'
import { createUndo } from './edit/undo.ts'
import { releaseLeftLocks } from './files/agent-lock.ts'
import { agentOf, type ConfigTarget, configTargets } from './files/config-target.ts'
import { FileWatcher } from './files/file-watcher.ts'
import { entryViews, type KnownFile, summaryOf } from './read/agent-view.ts'
import { effectiveEntries } from './read/effective-entries.ts'
import type { ImportInput, ImportReport, Scan } from './read/import.schema.ts'
import { createImport } from './read/import-servers.ts'
import { lineOf, readFileState } from './read/read-entries.ts'

export interface Deps extends EditDeps {
  readonly gateway: GatewayKeys
  readonly register: (name: string, definition: Definition, by: Caller) => Promise<{ readonly id: string }>
  readonly onTrouble: (sentence: string, error: unknown) => void
}

/** Reads and changes the tool servers in agents' configuration files. */
export function createAgents(deps: Deps) {
  const { platform, ownership } = deps
  const edit = createEdit(deps)
  const { undo, history } = createUndo(deps)
  const connection = createGatewayConnection(edit, deps, deps.gateway)
  const importing = createImport(deps)
  const watcher = new FileWatcher({
    facts: deps.facts,
    targets: allTargets,
    recordOf: recordFor,
    onTrouble: (folder, error) => deps.onTrouble(`cannot watch the folder ${folder}`, error),
  })
  const unsubscribe = deps.facts.on('agent_changed', ({ by, path }) => {
    if (by !== 'toolroom') return
    for (const target of allTargets()) if (target.place.path === path) watcher.expect(target)
  })

  /** The user's files of every agent, and the files in projects that we have written to. */
  function allTargets(): ConfigTarget[] {
    const users = AGENTS.flatMap((agent) => configTargets(agent, platform, undefined))
    const projects = ownership.all().flatMap(({ agent_type, scope, project_path }) => {
      const agent = AGENTS.find(({ type }) => type === agent_type)
      if (!agent || project_path === null || !platform.exists(project_path)) return []
      return configTargets(agent, platform, project_path).filter(({ place }) => place.scope === scope)
    })
    return [...users, ...projects]
  }

  function recordFor({ place }: ConfigTarget): KnownFile['record'] {
    return recordOf(ownership, place.path, place.keyPath)
  }

  const filesOf = (agent: Agent, project?: string, scope?: string): KnownFile[] =>
    configTargets(agent, platform, project)
      .filter(({ place }) => scope === undefined || place.scope === scope)
      .map((target) => ({ state: readFileState(target), record: recordFor(target) }))

  async function entries(agent: Agent, files: readonly KnownFile[]): Promise<EntryView[]> {
    const registered = await deps.registered()
    return files.flatMap((file) => entryViews(file, { agent, registered, lineOf }))
  }

  const statesOf = (keys: readonly string[] | undefined, project?: string) =>
    (keys?.map(agentOf) ?? AGENTS).map((agent) => ({
      agent,
      installed: detect(agent, platform).installed,
      states: configTargets(agent, platform, project).map(readFileState),
    }))

  return {
    set: connection.set,
    addHttp: edit.addHttp,
    remove: connection.remove,
    connect: connection.connect,
    disconnect: connection.disconnect,
    undo,
    history,

    /** Cleans up after a crash, then watches the files. */
    open(): void {
      releaseLeftLocks(deps.lockLedger)
      removeStaleTemps(allTargets().map(({ place }) => place.path))
      watcher.open()
    },

    close(): void {
      unsubscribe()
      watcher.close()
    },

    list(): AgentSummary[] {
      return AGENTS.map((agent) => summaryOf(agent, detect(agent, platform), filesOf(agent)))
    },

    async get(key: string, scope?: string, project?: string): Promise<AgentView> {
      const agent = agentOf(key)
      const files = filesOf(agent, project, scope)
      const main = files.find(({ state }) => state.place.scope === (scope ?? 'user')) ?? files[0]
      return {
        ...summaryOf(agent, detect(agent, platform), files),
        homepage: agent.homepage,
        aliases: [...agent.aliases],
        transports: (['stdio', 'http', 'sse'] as const).filter((transport) => agent[transport] !== null),
        servers: await entries(agent, files),
        revision: main?.state.content?.revision ?? null,
        notes: [...agent.notes],
      }
    },

    async httpEntries(key: string, scope?: string, project?: string): Promise<EntryView[]> {
      const agent = agentOf(key)
      const all = await entries(agent, filesOf(agent, project, scope))
      return all.filter(({ type }) => type === 'http' || type === 'sse')
    },

    async effective(key: string, project?: string): Promise<EffectiveEntry[]> {
      const agent = agentOf(key)
      const registered = await deps.registered()
      return effectiveEntries(agent, filesOf(agent, project), { agent, registered, lineOf })
    },

    async scan(): Promise<Scan> {
      return importing.scan(statesOf(undefined))
    },

    async import(input: ImportInput, by: Caller): Promise<ImportReport> {
      return importing.run(statesOf(input.agents, input.project_path), input, by)
    },

    /** The agents that have an entry made from this server. */
    usedBy(serverId: string): string[] {
      const users = ownership
        .all()
        .filter(({ entries: owned }) =>
          Object.values(owned).some(({ server_id, parked }) => server_id === serverId && parked === null),
        )
      return [...new Set(users.map(({ agent_type }) => agent_type))].sort()
    },
  }
}
export type Agents = ReturnType<typeof createAgents>
