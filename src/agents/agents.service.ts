import { removeStaleTemps } from '../kernel/files/durable-file.ts'
import type { Caller } from '../kernel/rest-parts.ts'
import { listText, ViewTexts } from '../servers/shared/view-json-cache.ts'
import type { ConfigTarget } from './catalogue/agent-catalogue.ts'
import { AGENTS, detect, isScope } from './catalogue/agent-catalogue.ts'
import type { Agent } from './catalogue/agent-record.ts'
import type { RegisteredServer } from './catalogue/server-definition.ts'
import { planKeep } from './edit/drift-plan.ts'
import type {
  BackupItem,
  ChangeReport,
  DriftInput,
  DriftReport,
  RestoreInput,
  RestoreReport,
} from './edit/edit.schema.ts'
import { Edit, type EditDeps } from './edit/edit.service.ts'
import type { CurrentConfig } from './edit/entry-plan.ts'
import { assertRevision } from './edit/file-plan.ts'
import { FileWriter } from './edit/file-writer.ts'
import { createRestore } from './edit/restore-files.ts'
import { Undo } from './edit/undo-change.ts'
import { releaseLeftLocks } from './files/agent-lock.ts'
import { agentOf, configTarget, configTargets, recordOf } from './files/config-target.ts'
import type { Backups } from './files/file-backups.ts'
import { type AgentFiles, approvedIn, knownProjects, targetsIn } from './read/agent-projects.ts'
import { effectiveEntries, entryViews, type GatewayView, gridFields, summaryOf } from './read/agent-view.ts'
import type {
  AgentSummary,
  AgentView,
  EffectiveEntry,
  EntryView,
  FileQuery,
  FileView,
  HistoryItem,
} from './read/agents.schema.ts'
import { driftOf, type FileTrouble, type KnownFile, troubleOf } from './read/drift.ts'
import { fileView } from './read/file-view.ts'
import { FileWatcher } from './read/file-watcher.ts'
import { readFileState, SeenFiles } from './read/read-entries.ts'
import { ServerUsers } from './read/server-users.ts'

export interface Deps extends Omit<EditDeps, 'writer' | 'usersOf'> {
  /** The folder where we record which agents' locks we hold. */
  readonly lockLedger: string
  readonly backups: Backups
  /** How the service is started by agents: known while one of them is connected. */
  readonly start: { readonly record: () => void; readonly forget: () => void }
  readonly now: () => number
  readonly view: GatewayView & Pick<ConstructorParameters<typeof ServerUsers>[0], 'keys' | 'mayUse'>
  readonly onTrouble: (sentence: string, error: unknown) => void
}

/** Reads and changes the tool servers in agents' configuration files. */
export class Agents {
  /** Changes of entries. */
  readonly edit: Edit
  readonly #deps: Deps
  readonly #writer: FileWriter
  readonly #undo: Undo
  readonly #restore: ReturnType<typeof createRestore>
  readonly #seen = new SeenFiles()
  readonly #listTexts = new Map<string, ViewTexts<Agent>>()
  readonly #sameServers = unchanged()
  readonly #users: ServerUsers
  readonly #watcher: FileWatcher
  readonly #unsubscribe: readonly (() => void)[]
  /** The gateway keys in agents' files. */
  #keys: ReadonlySet<string>

  constructor(deps: Deps) {
    this.#deps = deps
    this.#keys = this.#keysNow()
    this.#writer = new FileWriter({ ...deps, store: deps.ownership, cleanUp: () => this.#cleanUp() })
    const editing = { ...deps, writer: this.#writer, usersOf: (id: string) => this.usedBy(id) }
    this.edit = new Edit(editing)
    this.#undo = new Undo(editing)
    this.#restore = createRestore({ ...deps, edit: this.edit })
    this.#users = new ServerUsers({
      ...deps,
      ...deps.view,
      records: () => deps.ownership.all(),
      findLinks: () => this.#findLinks(),
    })
    this.#watcher = new FileWatcher({
      facts: deps.facts,
      targets: () => this.#targetsOf(AGENTS),
      recordOf: (target) => this.#recordOf(target),
      onContent: (path, content) => this.#writer.observe(path, content),
      onTrouble: (folder, error) => deps.onTrouble(`cannot watch the folder ${folder}`, error),
    })
    this.#unsubscribe = [
      deps.facts.on('agent_changed', ({ by, path }) => {
        if (by !== 'toolroom') return
        this.#keepStart()
        for (const target of this.#targetsOf(AGENTS))
          if (target.config.path === path) this.#watcher.expect(target)
      }),
      // An entry with a plain secret leads to the server whose named secret has that value.
      deps.facts.on('secret_changed', () => this.#listTexts.clear()),
    ]
  }

  /** Cleans up after a crash, then watches the files. */
  async open(): Promise<void> {
    await this.#writer.recover()
    this.#keepStart() // the clean-up may have completed a change
    if (this.#keys.size === 0) this.#deps.start.forget()
    this.#watcher.open()
    await this.#users.open()
  }

  close(): void {
    for (const end of this.#unsubscribe) end()
    this.#users.close()
    this.#watcher.close()
  }

  undo(...args: Parameters<Undo['undo']>): Promise<ChangeReport> {
    return this.#undo.undo(...args)
  }

  history(...args: Parameters<Undo['history']>): HistoryItem[] {
    return this.#undo.history(...args)
  }

  backups(): BackupItem[] {
    return this.#restore.backups()
  }

  restore(input: RestoreInput, by: Caller): Promise<RestoreReport> {
    return this.#restore.restore(input, by)
  }

  /**
   * The list as JSON. `include`: fields that are shown on request, `servers` and `tools`. `isOwner`: the caller has the
   * token. An agent's part is made again only when something in it has changed: each open dashboard asks for it often.
   */
  async listText(include: readonly string[], isOwner: boolean): Promise<string> {
    const { view, platform } = this.#deps
    const registered = include.length === 0 ? [] : this.#sameServers(await this.#deps.registered())
    const lastSeen = view.lastSeen()
    const kind = [isOwner, ...include].join()
    const texts = this.#listTexts.get(kind) ?? new ViewTexts<Agent>()
    this.#listTexts.set(kind, texts)
    const facts = (agent: Agent) => ({ agent, registered, isOwner, secretOf: this.#deps.secretOf })
    const items = AGENTS.map((agent) => {
      const files = this.#filesOf(agent)
      const detected = detect(agent, platform)
      const visible = include.includes('tools') ? view.visibleTo(agent.type) : undefined
      const chosen = visible ? view.chosenFor(agent.type) : null
      const seenAt = lastSeen.get(agent.type)
      const shown = [detected.by, registered, visible, chosen, seenAt, ...files.flatMap(shownOf)]
      return texts.textOf(agent, shown, () => {
        const servers = include.length === 0 ? [] : entryViews(files, facts(agent))
        return {
          ...summaryOf(agent, detected, files),
          ...(include.includes('servers') && { servers }),
          ...(visible && gridFields(files, servers, visible, chosen, seenAt)),
        } satisfies AgentSummary
      })
    })
    return listText(items)
  }

  /** `isOwner`: the caller has the token. */
  async get(key: string, isOwner: boolean, scope?: string, project?: string): Promise<AgentView> {
    const agent = agentOf(key)
    const files = this.#filesOf(agent, project, scope)
    const main = files.find(({ state }) => isScope(state.config, scope ?? 'user')) ?? files[0]
    return {
      ...summaryOf(agent, detect(agent, this.#deps.platform), files),
      homepage: agent.homepage,
      aliases: [...agent.aliases],
      servers: entryViews(files, await this.#factsOf(agent, isOwner)),
      revision: main?.state.content?.revision ?? null,
      notes: [...agent.notes],
    }
  }

  async httpEntries(key: string, isOwner: boolean, scope?: string, project?: string): Promise<EntryView[]> {
    const agent = agentOf(key)
    const files = this.#filesOf(agent, project, scope)
    const all = entryViews(files, await this.#factsOf(agent, isOwner))
    return all.filter(({ type }) => type === 'http' || type === 'sse')
  }

  async effective(key: string, project?: string): Promise<EffectiveEntry[]> {
    const agent = agentOf(key)
    return effectiveEntries(this.#filesOf(agent, project), await this.#factsOf(agent, true))
  }

  file(key: string, query: FileQuery): FileView {
    return fileView(configTarget(agentOf(key), this.#deps.platform, query), query)
  }

  /**
   * The files of the user, of the projects that installed agents list, and of the given project. In the order of the
   * catalogue, however they are named, so that servers get the same names everywhere.
   */
  readonly importable = (keys: readonly string[] | undefined, project?: string): AgentFiles[] => {
    const { platform } = this.#deps
    const projects = knownProjects(platform)
    const wanted = keys?.map(agentOf)
    return AGENTS.filter((agent) => wanted?.includes(agent) ?? true).map((agent) => {
      const { installed } = detect(agent, platform)
      const folders = [...(installed ? projects : []), ...(project === undefined ? [] : [project])]
      const files = targetsIn(agent, platform, folders)
      const states = files.map((target) => ({
        state: readFileState(target),
        project: target.project ?? null,
        approved: approvedIn(target),
      }))
      return { agent, installed, files: states }
    })
  }

  /** Files that cannot be read, or whose managed entries another program has changed: of one agent, or of all. */
  fileTroubles(agentType: string | undefined): FileTrouble[] {
    const agents = agentType === undefined ? AGENTS : AGENTS.filter(({ type }) => type === agentType)
    return this.#targetsOf(agents).flatMap((target) => troubleOf(target.agent, this.#known(target)) ?? [])
  }

  /** Keeps one version of what other programs have changed of ours, in all files of the agent. */
  async keepDrift(
    key: string,
    { keep, files, dry_run = false }: DriftInput,
    by: Caller,
  ): Promise<DriftReport> {
    const drifted = this.#targetsOf([agentOf(key)]).flatMap((target) => {
      const known = this.#known(target)
      const { path } = target.config
      // All are compared before one is written. Null: it was not seen.
      const seen = files && (files.find((file) => file.path === path)?.revision ?? null)
      return driftOf(known).length === 0 ? [] : [{ target, seen, content: known.state.content }]
    })
    for (const { target, seen, content } of drifted) assertRevision(target.config.path, seen, content)
    const items: ChangeReport[] = []
    for (const { target, seen } of drifted) {
      const plan = (_: ConfigTarget, current: CurrentConfig) => planKeep(target, current, keep)
      const options = { dry_run, ...(seen && { revision: seen }) }
      items.push(await this.edit.change(target, options, by, { action: 'set', plan }))
    }
    return { keep, dry_run, items, total: items.length }
  }

  /** The agents that have an entry for this server, or may use it through the gateway. */
  usedBy(serverId: string): readonly string[] {
    return this.#users.of(serverId)
  }

  /** The user's files of these agents, and their files in projects that we have written to. */
  #targetsOf(agents: readonly Agent[]): ConfigTarget[] {
    const { platform, ownership } = this.#deps
    const users = agents.flatMap((agent) => configTargets(agent, platform, undefined))
    const projects = ownership.all().flatMap(({ agent_type, scope, project_path }) => {
      const agent = agents.find(({ type }) => type === agent_type)
      if (!agent || project_path === null || !platform.exists(project_path)) return []
      return configTargets(agent, platform, project_path).filter(({ config }) => isScope(config, scope))
    })
    return [...users, ...projects]
  }

  /** Removes what a crash left. It must not run beside a change, which has files and locks of the same names. */
  #cleanUp(): void {
    const { lockLedger, ownership } = this.#deps
    releaseLeftLocks(lockLedger)
    const unfinished = ownership.pending().flatMap(({ files }) => files.map(({ path }) => path))
    removeStaleTemps([...this.#targetsOf(AGENTS).map(({ config }) => config.path), ...unfinished])
  }

  /** Recorded when an agent is connected, forgotten with the last one. */
  #keepStart(): void {
    const { start, onTrouble } = this.#deps
    const before = this.#keys
    this.#keys = this.#keysNow()
    try {
      if ([...this.#keys].some((key) => !before.has(key))) start.record()
      else if (before.size > 0 && this.#keys.size === 0) start.forget()
    } catch (error) {
      onTrouble('how agents start the service could not be recorded', error)
    }
  }

  #keysNow(): Set<string> {
    return new Set(this.#deps.ownership.all().flatMap(({ keys = [] }) => keys))
  }

  /** What an entry is compared with. */
  async #factsOf(agent: Agent, isOwner: boolean) {
    const { registered, secretOf } = this.#deps
    return { agent, registered: await registered(), isOwner, secretOf }
  }

  #recordOf({ config }: ConfigTarget): KnownFile['record'] {
    return recordOf(this.#deps.ownership, config)
  }

  #known(target: ConfigTarget): KnownFile {
    return { state: this.#seen.of(target), record: this.#recordOf(target) }
  }

  #filesOf(agent: Agent, project?: string, scope?: string): KnownFile[] {
    return configTargets(agent, this.#deps.platform, project)
      .filter(({ config }) => scope === undefined || isScope(config, scope))
      .map((target) => this.#known(target))
  }

  /** The agents that have an entry of their own for a server. */
  async #findLinks(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { platform } = this.#deps
    const registered = await this.#deps.registered()
    const links = new Map<string, Set<string>>()
    const facts = (agent: Agent) => ({ agent, registered, isOwner: true, secretOf: this.#deps.secretOf })
    const projects = knownProjects(platform)
    for (const agent of AGENTS) {
      const folders = detect(agent, platform).installed ? projects : []
      const existing = targetsIn(agent, platform, folders).filter(({ config }) =>
        platform.exists(config.path),
      )
      const files = existing.map((target) => this.#known(target))
      for (const { linked_server_id: id, parked } of entryViews(files, facts(agent)))
        if (id !== null && !parked) links.set(id, (links.get(id) ?? new Set()).add(agent.type))
    }
    return links
  }
}

/** The values that a list shows of a file. Entries stay the same object until the file changes. */
const shownOf = ({ state, record }: KnownFile): unknown[] => {
  const { config, content, entries, parseError, problem, writable } = state
  return [config.path, content?.revision, entries, parseError?.message, problem, writable, record]
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
