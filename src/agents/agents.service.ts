import { removeStaleTemps } from '../kernel/files/durable-file.ts'
import { memo } from '../kernel/memo.ts'
import type { Caller } from '../kernel/wire.ts'
import type { AgentSummary, AgentView, EffectiveEntry, EntryView } from './agents.schema.ts'
import type { Agent } from './catalogue/catalogue.schema.ts'
import { AGENTS } from './catalogue/catalogue.ts'
import { isScope } from './catalogue/config-places.ts'
import { detect } from './catalogue/detect.ts'
import { createEdit, type EditDeps } from './edit/edit.service.ts'
import { FileChanges } from './edit/file-changes.ts'
import { createGatewayConnection } from './edit/gateway-connection.ts'
import { type FileRecord, recordOf } from './edit/ownership.ts'
import { createRestore } from './edit/restore.ts'
import { createUndo } from './edit/undo.ts'
import { releaseLeftLocks } from './files/agent-lock.ts'
import type { Backups } from './files/backups.ts'
import { agentOf, type ConfigTarget, configTargets } from './files/config-target.ts'
import { FileWatcher } from './files/file-watcher.ts'
import type { AgentFiles } from './import/candidates.ts'
import type { ImportInput, ImportReport, Scan } from './import/import.schema.ts'
import { createImport, type ImportDeps } from './import/import-servers.ts'
import { knownProjects, projectTargets } from './import/projects.ts'
import { entryViews, type KnownFile, summaryOf } from './read/agent-view.ts'
import { effectiveEntries } from './read/effective-entries.ts'
import { type FileTrouble, troubleOf } from './read/file-trouble.ts'
import { linesOf, readFileState } from './read/read-entries.ts'

export interface Deps extends Omit<EditDeps, 'changes'>, Omit<ImportDeps, 'home'> {
  readonly backups: Backups
  readonly now: () => number
  readonly onTrouble: (sentence: string, error: unknown) => void
}

/** Reads and changes the tool servers in agents' configuration files. */
export function createAgents(deps: Deps) {
  const { platform, ownership } = deps
  const changes = new FileChanges({ ...deps, store: ownership, cleanUp })
  const edit = createEdit({ ...deps, changes })
  const { undo, history } = createUndo({ ...deps, changes })
  const connection = createGatewayConnection(edit, deps)
  const importing = createImport({ ...deps, home: platform.home })
  const restoring = createRestore({ ...deps, edit })
  const watcher = new FileWatcher({
    facts: deps.facts,
    targets: allTargets,
    recordOf: recordFor,
    onContent: (path, content) => changes.observe(path, content),
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
      return configTargets(agent, platform, project_path).filter(({ place }) => isScope(place, scope))
    })
    return [...users, ...projects]
  }

  /** Removes what a crash left. It must not run beside a change, which has files and locks of the same names. */
  function cleanUp(): void {
    releaseLeftLocks(deps.lockLedger)
    const unfinished = ownership.pending().flatMap(({ files }) => files.map(({ path }) => path))
    removeStaleTemps([...allTargets().map(({ place }) => place.path), ...unfinished])
  }

  function recordFor({ place }: ConfigTarget): KnownFile['record'] {
    return recordOf(ownership, place.path, place.keyPath)
  }

  const filesOf = (agent: Agent, project?: string, scope?: string): KnownFile[] =>
    configTargets(agent, platform, project)
      .filter(({ place }) => scope === undefined || isScope(place, scope))
      .map((target) => ({ state: readFileState(target), record: recordFor(target) }))

  async function entries(agent: Agent, files: readonly KnownFile[], isOwner: boolean): Promise<EntryView[]> {
    const registered = await deps.registered()
    return files.flatMap((file) => entryViews(file, { agent, registered, isOwner, linesOf }))
  }

  /** The files of the user, of the projects that installed agents list, and of the given project. */
  function importable(keys: readonly string[] | undefined, project?: string): AgentFiles[] {
    const projects = knownProjects(platform)
    return (keys?.map(agentOf) ?? AGENTS).map((agent) => {
      const { installed } = detect(agent, platform)
      const folders = new Set([...(installed ? projects : []), ...(project === undefined ? [] : [project])])
      const files = [
        ...configTargets(agent, platform, undefined),
        ...[...folders].flatMap((folder) => projectTargets(agent, platform, folder)),
      ].map((target) => ({ state: readFileState(target), project: target.project ?? null }))
      return { agent, installed, files }
    })
  }

  return {
    set: connection.set,
    addHttp: edit.addHttp,
    remove: edit.remove,
    connect: connection.connect,
    disconnect: connection.disconnect,
    undo,
    history,
    backups: restoring.backups,
    restore: restoring.restore,

    /** Cleans up after a crash, then watches the files. */
    async open(): Promise<void> {
      await changes.recover()
      watcher.open()
    },

    close(): void {
      unsubscribe()
      watcher.close()
    },

    list(): AgentSummary[] {
      return AGENTS.map((agent) => summaryOf(agent, detect(agent, platform), filesOf(agent)))
    },

    /** `isOwner`: the caller has the token. */
    async get(key: string, isOwner: boolean, scope?: string, project?: string): Promise<AgentView> {
      const agent = agentOf(key)
      const files = filesOf(agent, project, scope)
      const main = files.find(({ state }) => isScope(state.place, scope ?? 'user')) ?? files[0]
      return {
        ...summaryOf(agent, detect(agent, platform), files),
        homepage: agent.homepage,
        aliases: [...agent.aliases],
        transports: (['stdio', 'http', 'sse'] as const).filter((transport) => agent[transport] !== null),
        servers: await entries(agent, files, isOwner),
        revision: main?.state.content?.revision ?? null,
        notes: [...agent.notes],
      }
    },

    async httpEntries(key: string, isOwner: boolean, scope?: string, project?: string): Promise<EntryView[]> {
      const agent = agentOf(key)
      const all = await entries(agent, filesOf(agent, project, scope), isOwner)
      return all.filter(({ type }) => type === 'http' || type === 'sse')
    },

    async effective(key: string, project?: string): Promise<EffectiveEntry[]> {
      const agent = agentOf(key)
      const registered = await deps.registered()
      return effectiveEntries(agent, filesOf(agent, project), { agent, registered, isOwner: true, linesOf })
    },

    async scan(): Promise<Scan> {
      return importing.scan(importable(undefined))
    },

    async import(input: ImportInput, by: Caller): Promise<ImportReport> {
      return importing.run(importable(input.agents, input.project_path), input, by)
    },

    /** Files that cannot be read, or whose managed entries another program has changed: of one agent, or of all. */
    fileTroubles: (agentType: string | undefined): FileTrouble[] =>
      allTargets()
        .filter(({ agent }) => agentType === undefined || agent.type === agentType)
        .flatMap((target) => {
          const file = { state: readFileState(target), record: recordFor(target) }
          return troubleOf(target.agent, file) ?? []
        }),

    /** The agents that have an entry made from this server. */
    usedBy: (serverId: string): readonly string[] => agentsByServer(ownership.all()).get(serverId) ?? NONE,
  }
}
export type Agents = ReturnType<typeof createAgents>

const NONE: readonly string[] = []

const agentsByServer = memo((files: readonly FileRecord[]): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, Set<string>>()
  for (const { agent_type, entries } of files)
    for (const { server_id, parked } of Object.values(entries))
      if (server_id !== null && parked === null)
        found.set(server_id, (found.get(server_id) ?? new Set()).add(agent_type))
  return new Map([...found].map(([id, agents]) => [id, [...agents].sort()]))
})
