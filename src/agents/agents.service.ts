import { removeStaleTemps } from '../kernel/files/durable-file.ts'
import { listText, ViewTexts } from '../servers/shared/view-texts.ts'
import type { Agent } from './catalogue/catalogue.schema.ts'
import { AGENTS, detect } from './catalogue/catalogue.ts'
import { isScope } from './catalogue/config-files.ts'
import type { RegisteredServer } from './catalogue/definition.ts'

import { createEdit, type EditDeps } from './edit/edit.service.ts'
import { FileChanges } from './edit/file-changes.ts'
import { createGatewayConnection } from './edit/gateway-connection.ts'
import { createRestore } from './edit/restore.ts'
import { createUndo } from './edit/undo.ts'
import { releaseLeftLocks } from './files/agent-lock.ts'
import type { Backups } from './files/backups.ts'
import { agentOf, type ConfigTarget, configTarget, configTargets } from './files/config-target.ts'
import { recordOf } from './files/ownership.ts'
import {
  type EntryFacts,
  effectiveEntries,
  entryViews,
  type GatewayView,
  gridFields,
  type KnownFile,
  summaryOf,
} from './read/agent-view.ts'

import type {
  AgentSummary,
  AgentView,
  EffectiveEntry,
  EntryView,
  FileQuery,
  FileView,
} from './read/agents.schema.ts'

import { type FileTrouble, fileView, troubleOf } from './read/file-view.ts'

import { FileWatcher } from './read/file-watcher.ts'
import { type AgentFiles, knownProjects, projectTargets } from './read/projects.ts'
import { readFileState, SeenFiles } from './read/read-entries.ts'

import { ServerUsers } from './read/server-users.ts'

export interface Deps extends Omit<EditDeps, 'changes'> {
  readonly backups: Backups
  readonly now: () => number
  readonly view: GatewayView & Pick<ConstructorParameters<typeof ServerUsers>[0], 'keys' | 'mayUse'>
  readonly onTrouble: (sentence: string, error: unknown) => void
}

/** Reads and changes the tool servers in agents' configuration files. */
export function createAgents(deps: Deps) {
  const { platform, ownership } = deps
  const changes = new FileChanges({ ...deps, store: ownership, cleanUp })
  const edit = createEdit({ ...deps, changes })
  const { undo, history } = createUndo({ ...deps, changes })
  const connection = createGatewayConnection(edit, deps)
  const restoring = createRestore({ ...deps, edit })
  const seen = new SeenFiles()
  const sameServers = unchanged()
  const listTexts = new Map<string, ViewTexts<Agent>>()
  const lineOf: EntryFacts['lineOf'] = (file, entry) => seen.lineOf(file, entry)
  const users = new ServerUsers({ ...deps, ...deps.view, records: () => ownership.all(), findLinks })
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

  const known = (target: ConfigTarget): KnownFile => ({ state: seen.of(target), record: recordFor(target) })

  const filesOf = (agent: Agent, project?: string, scope?: string): KnownFile[] =>
    configTargets(agent, platform, project)
      .filter(({ place }) => scope === undefined || isScope(place, scope))
      .map(known)

  async function entries(agent: Agent, files: readonly KnownFile[], isOwner: boolean): Promise<EntryView[]> {
    const registered = await deps.registered()
    return entriesIn(agent, files, registered, isOwner)
  }

  const entriesIn = (
    agent: Agent,
    files: readonly KnownFile[],
    registered: readonly RegisteredServer[],
    isOwner: boolean,
  ): EntryView[] => files.flatMap((file) => entryViews(file, { agent, registered, isOwner, lineOf }))

  /** The agents that have an entry of their own for a server. */
  async function findLinks(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const registered = await deps.registered()
    const links = new Map<string, Set<string>>()
    const projects = knownProjects(platform)
    for (const agent of AGENTS) {
      const folders = detect(agent, platform).installed ? projects : []
      const files = folders.flatMap((folder) => projectTargets(agent, platform, folder)).map(known)
      for (const { linked_server_id: id, parked } of entriesIn(
        agent,
        [...filesOf(agent), ...files],
        registered,
        true,
      ))
        if (id !== null && !parked) links.set(id, (links.get(id) ?? new Set()).add(agent.type))
    }
    return links
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
      await users.open()
    },

    close(): void {
      unsubscribe()
      users.close()
      watcher.close()
    },

    /**
     * The list as JSON. `include`: fields that are shown on request, `servers` and `tools`. `isOwner`: the caller has the
     * token. An agent's part is made again only when something in it has changed: each open dashboard asks for it often.
     */
    async listText(include: readonly string[], isOwner: boolean): Promise<string> {
      const registered = include.length === 0 ? [] : sameServers(await deps.registered())
      const lastSeen = deps.view.lastSeen()
      const kind = [isOwner, ...include].join()
      const texts = listTexts.get(kind) ?? new ViewTexts<Agent>()
      listTexts.set(kind, texts)
      const items = AGENTS.map((agent) => {
        const files = filesOf(agent)
        const detected = detect(agent, platform)
        const visible = include.includes('tools') ? deps.view.visibleTo(agent.type) : undefined
        const chosen = visible ? deps.view.chosenFor(agent.type) : null
        const seenAt = lastSeen.get(agent.type)
        const shown = [detected.by, registered, visible, chosen, seenAt, ...files.flatMap(shownOf)]
        return texts.textOf(agent, shown, () => {
          const servers = include.length === 0 ? [] : entriesIn(agent, files, registered, isOwner)
          return {
            ...summaryOf(agent, detected, files),
            ...(include.includes('servers') && { servers }),
            ...(visible && gridFields(files, servers, visible, chosen, seenAt)),
          } satisfies AgentSummary
        })
      })
      return listText(items)
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
      return effectiveEntries(agent, filesOf(agent, project), { agent, registered, isOwner: true, lineOf })
    },

    file(key: string, query: FileQuery): FileView {
      return fileView(configTarget(agentOf(key), platform, query), query)
    },

    /** The files of the user, of the projects that installed agents list, and of the given project. */
    importable(keys: readonly string[] | undefined, project?: string): AgentFiles[] {
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
    },

    /** Files that cannot be read, or whose managed entries another program has changed: of one agent, or of all. */
    fileTroubles: (agentType: string | undefined): FileTrouble[] =>
      allTargets()
        .filter(({ agent }) => agentType === undefined || agent.type === agentType)
        .flatMap((target) => {
          return troubleOf(target.agent, known(target)) ?? []
        }),

    /** The agents that have an entry for this server, or may use it through the gateway. */
    usedBy: (serverId: string): readonly string[] => users.of(serverId),
  }
}
export type Agents = ReturnType<typeof createAgents>

/** The values that a list shows of a file. Entries stay the same object until the file changes. */
const shownOf = ({ state, record }: KnownFile): unknown[] => {
  const { place, content, entries, parseError, problem, writable } = state
  return [place.path, content?.revision, entries, parseError?.message, problem, writable, record]
}

/** Returns the former list as long as the servers have the same names and definitions. */
function unchanged(): (now: readonly RegisteredServer[]) => readonly RegisteredServer[] {
  let last: { readonly text: string; readonly servers: readonly RegisteredServer[] } | undefined
  return (servers) => {
    const text = JSON.stringify(servers.map(({ id, definition }) => [id, definition]))
    if (last?.text !== text) last = { text, servers }
    return last.servers
  }
}
