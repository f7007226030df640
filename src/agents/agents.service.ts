import type { Caller } from '../kernel/wire.ts'
import type { AgentSummary, AgentView, EffectiveEntry, EntryView } from './agents.schema.ts'
import type { Agent } from './catalogue/catalogue.schema.ts'
import { AGENTS } from './catalogue/catalogue.ts'
import type { Definition } from './catalogue/definition.ts'
import { detect } from './catalogue/detect.ts'
import { createEditing, type EditingDeps } from './edit/edit.service.ts'
import { createConnecting, type GatewayKeys } from './edit/gateway-connection.ts'
import { recordOf } from './edit/ownership.ts'
import { createUndo } from './edit/undo.ts'
import { releaseLeftLocks } from './files/agent-lock.ts'
import { agentOf, wheresOf } from './files/config-target.ts'
import { Guard } from './files/file-watcher.ts'
import { cleanUp } from './files/stale-temps.ts'
import { entryViews, type Seen, summaryOf } from './read/agent-view.ts'
import { effectiveOf } from './read/effective-entries.ts'
import type { ImportInput, ImportReport, Scan } from './read/import.schema.ts'
import { createImporting } from './read/import-servers.ts'
import { lineOf, readPlace, type Where } from './read/read-entries.ts'

export interface Deps extends EditingDeps {
  readonly gateway: GatewayKeys
  readonly register: (name: string, definition: Definition, by: Caller) => Promise<{ readonly id: string }>
  readonly onTrouble: (sentence: string, error: unknown) => void
}

/** What agents have in their files, and every way to change it. */
export function createAgents(deps: Deps) {
  const { platform, ownership } = deps
  const editing = createEditing(deps)
  const undoing = createUndo(deps)
  const connecting = createConnecting(editing, deps, deps.gateway)
  const importing = createImporting(deps)
  const guard = new Guard({
    facts: deps.facts,
    wheres,
    recordOf: ({ place }) => recordOf(ownership, place.path, place.keyPath),
    onTrouble: (folder, error) => deps.onTrouble(`The folder ${folder} cannot be watched`, error),
  })
  const stop = deps.facts.on('agent_changed', ({ by, path }) => {
    if (by === 'toolroom') for (const where of wheres()) if (where.place.path === path) guard.expect(where)
  })

  /** The files of every agent, and those in projects that we have written into. */
  function wheres(): Where[] {
    const users = AGENTS.flatMap((agent) => wheresOf(agent, platform, undefined))
    const projects = ownership.all().flatMap(({ agent_type, scope, project_path }) => {
      const agent = AGENTS.find(({ type }) => type === agent_type)
      if (!agent || project_path === null || !platform.exists(project_path)) return []
      return wheresOf(agent, platform, project_path).filter(({ place }) => place.scope === scope)
    })
    return [...users, ...projects]
  }

  const look = (where: Where): Seen => ({
    state: readPlace(where),
    record: recordOf(ownership, where.place.path, where.place.keyPath),
  })
  const seenOf = (agent: Agent, project?: string, scope?: string): Seen[] =>
    wheresOf(agent, platform, project)
      .filter(({ place }) => scope === undefined || place.scope === scope)
      .map(look)

  async function entries(agent: Agent, seen: readonly Seen[]): Promise<EntryView[]> {
    const registered = await deps.registered()
    return seen.flatMap((each) => entryViews(each, { agent, registered, lineOf }))
  }

  const filesOf = (keys: readonly string[] | undefined, project?: string) =>
    (keys?.map(agentOf) ?? AGENTS).map((agent) => ({
      agent,
      installed: detect(agent, platform).installed,
      states: wheresOf(agent, platform, project).map(readPlace),
    }))

  return {
    set: connecting.set,
    addHttp: editing.addHttp,
    remove: connecting.remove,
    connect: connecting.connect,
    disconnect: connecting.disconnect,
    undo: undoing.undo,
    history: undoing.history,

    /** What a crash left beside agents' files, and from now on what others do to them. */
    open(): void {
      releaseLeftLocks(deps.lockLedger)
      cleanUp(wheres().map(({ place }) => place.path))
      guard.open()
    },

    close(): void {
      stop()
      guard.close()
    },

    list(): AgentSummary[] {
      return AGENTS.map((agent) => summaryOf(agent, detect(agent, platform), seenOf(agent)))
    },

    async get(key: string, scope?: string, project?: string): Promise<AgentView> {
      const agent = agentOf(key)
      const seen = seenOf(agent, project, scope)
      const main = seen.find(({ state }) => state.place.scope === (scope ?? 'user')) ?? seen[0]
      return {
        ...summaryOf(agent, detect(agent, platform), seen),
        homepage: agent.homepage,
        aliases: [...agent.aliases],
        transports: (['stdio', 'http', 'sse'] as const).filter((transport) => agent[transport] !== null),
        servers: await entries(agent, seen),
        revision: main?.state.content?.revision ?? null,
        notes: [...agent.notes],
      }
    },

    async httpEntries(key: string, scope?: string, project?: string): Promise<EntryView[]> {
      const agent = agentOf(key)
      const all = await entries(agent, seenOf(agent, project, scope))
      return all.filter(({ type }) => type === 'http' || type === 'sse')
    },

    async effective(key: string, project?: string): Promise<EffectiveEntry[]> {
      const agent = agentOf(key)
      return effectiveOf(agent, seenOf(agent, project), {
        agent,
        registered: await deps.registered(),
        lineOf,
      })
    },

    async scan(): Promise<Scan> {
      return importing.scan(filesOf(undefined))
    },

    async import(input: ImportInput, by: Caller): Promise<ImportReport> {
      return importing.run(filesOf(input.agents, input.project_path), input, by)
    },

    /** Agents that have an entry made from this server. */
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
