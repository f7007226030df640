import { KeyedQueue } from '../../kernel/async/keyed-queue.ts'
import { unknownName } from '../../kernel/did-you-mean.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { FactBus } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { ConfigTarget, Platform } from '../catalogue/agent-catalogue.ts'
import { readGatewayEntry } from '../catalogue/gateway-entry.ts'
import type { RegisteredServer } from '../catalogue/server-definition.ts'
import { agentOf, assertMayChange, configTarget, recordOf } from '../files/config-target.ts'
import { type Chosen, keepsNamesIn, type OwnershipStore } from '../files/ownership-store.ts'
import { linkedServer } from '../read/server-identity.ts'
import { type ConnectDeps, leadingEntry, planConnect, refuseUnknown } from './connect-plan.ts'
import { type DesiredEntry, desiredFromInput, desiredFromServer } from './desired-entry.ts'
import type {
  AddHttpServer,
  ChangeOptions,
  ChangeReport,
  ConnectInput,
  EntryInput,
  PutServers,
} from './edit.schema.ts'
import { type CurrentConfig, namesIn, type Plan, planSet } from './entry-plan.ts'
import {
  auditOf,
  currentConfig,
  type FileChange,
  otherFilesOf,
  planFile,
  planOtherFile,
  recordKey,
  reportOf,
} from './file-plan.ts'
import type { FileWriter, OpenFiles, PlannedChange } from './file-writer.ts'
import { choiceIn, chosenSince, isSameChoice } from './gateway-choice.ts'
import { type GatewayKeys, type KeyKind, keyName, keysAfter } from './gateway-keys.ts'
import { checkIsolated } from './isolated-servers.ts'
import { planDisconnect, planRemove } from './removal-plans.ts'

export interface EditDeps extends ConnectDeps {
  readonly platform: Platform
  readonly facts: FactBus
  readonly writer: FileWriter
  readonly ownership: OwnershipStore
  readonly registered: () => Promise<readonly RegisteredServer[]>
}

interface Change {
  readonly action: 'set' | 'remove' | 'restore'
  /** What changes, by the current entries. Pure. `key` is the new gateway key, if there is one. */
  readonly plan: (target: ConfigTarget, current: CurrentConfig, key: string) => Plan
  /** The entries lead to the gateway, with a new key. */
  readonly keyKind?: KeyKind
}

type ConnectOptions = NonNullable<ConnectInput> & { readonly replace?: boolean }

/** What happens to other entries than those that are set. */
interface Others {
  readonly replace: boolean
  readonly remove?: PutServers['remove'] | undefined
  readonly disable?: PutServers['disable'] | undefined
  /** To find the servers behind those that are disabled. */
  readonly registered?: readonly RegisteredServer[]
}

/** Changes of agents' files. Each is written atomically and can be undone. */
export class Edit {
  readonly #deps: EditDeps
  /** An agent with several files gets its servers from one after the other, so that none is lost. */
  readonly #connecting = new KeyedQueue()

  constructor(deps: EditDeps) {
    this.#deps = deps
  }

  /** Adds or updates entries: those of the request, of registered servers, or of the gateway. */
  async set(agent: string, input: PutServers, by: Caller): Promise<ChangeReport> {
    const { servers, server_ids, enable, remove, disable, mode = 'merge', via, ...options } = input
    const replace = mode === 'replace'
    if (via === 'gateway' && servers)
      throw invalidField('/via', 'must be direct for servers; send server_ids instead')
    for (const [field, names] of Object.entries({ remove, disable }))
      if (via === 'gateway' && names) throw invalidField(`/${field}`, 'must not be given with the gateway')
    if (via === 'gateway')
      return server_ids
        ? this.#setThroughGateway(agent, server_ids, options, replace, by)
        : this.connect(agent, { ...options, replace }, by)
    const known = agentOf(agent)
    if (servers && server_ids) throw invalidField('/servers', 'must not be given together with server_ids')
    if (!servers && !server_ids && !remove && !disable)
      throw invalidField('/servers', 'must be given, or server_ids, remove or disable')
    const desired = Object.entries(servers ?? {}).map(([name, entry]) => desiredFromInput(name, entry))
    for (const id of server_ids ?? [])
      desired.push({ ...desiredFromServer(known, await this.#find(id)), ...(enable && { enabled: true }) })
    const registered = disable ? await this.#deps.registered() : []
    return this.#put(agent, options, by, desired, { replace, remove, disable, registered })
  }

  async addHttp(agent: string, input: AddHttpServer, by: Caller): Promise<ChangeReport> {
    agentOf(agent)
    const { server_id, name, type, url, headers, enabled, ...options } = input
    if ((server_id === undefined) === (url === undefined))
      throw invalidField('/server_id', 'or a url with a name must be given, but not both')
    let desired: DesiredEntry
    if (server_id === undefined) {
      if (name === undefined) throw invalidField('/name', 'is required with a url')
      desired = desiredFromInput(name, { url, type, headers, enabled } as EntryInput, '')
    } else {
      const server = await this.#find(server_id)
      const { definition } = server
      if (definition instanceof AppError || definition.type === 'stdio')
        throw invalidField('/server_id', 'must be an HTTP server')
      desired = { ...desiredFromServer(agentOf(agent), server), name: name ?? server.id, enabled }
    }
    return this.#put(agent, options, by, [desired], { replace: false })
  }

  /** Without names, all managed entries are removed. */
  async remove(
    agent: string,
    names: readonly string[] | undefined,
    options: ChangeOptions,
    by: Caller,
  ): Promise<ChangeReport> {
    const target = this.#targetOf(agent, options)
    return this.change(target, options, by, {
      action: 'remove',
      plan: (_, current) => planRemove(target, current, names),
    })
  }

  /** Writes one entry that leads to the servers of the gateway, with a key of its own. */
  async connect(agent: string, options: ConnectOptions, by: Caller): Promise<ChangeReport> {
    return this.#connecting.take(agentOf(agent).type, () => this.#connect(agent, options, by))
  }

  async #connect(
    agent: string,
    { bridge = false, replace = false, take_over = false, keep_names, servers, ...options }: ConnectOptions,
    by: Caller,
  ): Promise<ChangeReport> {
    const { gateway, ownership } = this.#deps
    const target = this.#targetOf(agent, options)
    const keepsNames = keep_names ?? (take_over && keepsNamesIn(recordOf(ownership, target.config)))
    if (keepsNames && !take_over) throw invalidField('/keep_names', 'needs take_over')
    if (keepsNames && servers !== undefined)
      throw invalidField('/servers', 'must not be given with keep_names: the agent sees those of its entries')
    const isBridge = bridge || target.agent.http === null
    if (isBridge && !options.dry_run) await gateway.program.keep()
    const registered = await this.#deps.registered()
    if (Array.isArray(servers)) refuseUnknown(servers, registered)
    const connection = { registered, asked: servers, isTakeOver: take_over, keepsNames, replace, isBridge }
    return this.change(target, options, by, {
      action: 'set',
      keyKind: keepsNames ? 'gateway' : 'connect',
      plan: (file, current, key) => planConnect(this.#deps, connection, file, current, key),
    })
  }

  disconnect(agent: string, options: ChangeOptions, by: Caller): Promise<ChangeReport> {
    const target = this.#targetOf(agent, options)
    return this.change(target, options, by, {
      action: 'remove',
      plan: (_, current) => planDisconnect(target, current),
    })
  }

  /** Reads the file, plans the change and writes it; again, if another program changes the file in between. */
  async change(
    target: ConfigTarget,
    options: ChangeOptions,
    by: Caller,
    { action, plan, keyKind }: Change,
  ): Promise<ChangeReport> {
    const { writer, ownership, gateway, facts, offers } = this.#deps
    const { agent, config } = target
    assertMayChange(target, options.create)
    const newKey = keyKind ? gateway.draft(agent.type, keyName(keyKind, target), by) : null
    const files = await writer.open({ target, by, action, dryRun: options.dry_run ?? false })
    try {
      for (;;) {
        const record = recordOf(ownership, config)
        const main = await files.read(config, record, (content) => {
          const current = currentConfig(target, content, record, options.revision)
          return planFile(target, current, plan(target, current, newKey?.key ?? ''))
        })
        await checkIsolated(this.#deps, target, action, main)
        const others = await this.#planOtherFiles(files, target, main.plan)
        const otherDiff = others.map(({ diff }) => diff).join('')
        const chosen = options.dry_run ? null : choiceIn(main.plan, record, offers.chosenFor(agent.type))
        const undo = main.plan.gateway && chosen ? await this.#choose(agent.type, chosen, by) : doNothing
        const planned = {
          ...this.#outcomeOf(target, { main, chosen }, newKey, by, others, otherDiff),
          // Disabled servers are listed first: a listed name without an entry has no effect.
          steps: [...others, { ...main, names: namesIn(main.plan) }],
          newKey,
          chosen,
        }
        const kept = await files.write(planned).catch(async (error) => {
          // A change whose file is in place is completed later, and its choice with it.
          if (!this.#isPending(config.path)) await undo()
          throw error
        })
        if (!kept) {
          await undo() // the next try begins with the choice that the user made
          continue
        }
        // What it saw before it was connected, once its entry is gone.
        if (!main.plan.gateway && chosen) await offers.choose(agent.type, chosen.after, by, true)
        const isAccepted = (main.plan.accepted?.length ?? 0) > 0 && !options.dry_run
        if (kept.size > 0 || isAccepted) publishChange(facts, target)
        return reportOf(target, options, main, otherDiff, kept)
      }
    } finally {
      files.close()
    }
  }

  /** The agent sees no other servers, not even for a moment: its choice is saved before its entry. Returns the undo. */
  async #choose(agentType: string, { before, after }: Chosen, by: Caller): Promise<() => Promise<unknown>> {
    const { offers } = this.#deps
    if (isSameChoice(before, after)) return doNothing
    await offers.choose(agentType, after, by)
    return () => offers.choose(agentType, before, by, true)
  }

  #isPending(path: string): boolean {
    return this.#deps.ownership.pending().some(({ files }) => files.some((file) => file.path === path))
  }

  /** The changes of the other files in which an agent lists its disabled servers. */
  async #planOtherFiles(files: OpenFiles, target: ConfigTarget, main: Plan) {
    const planned = []
    for (const other of otherFilesOf(main)) {
      const record = recordOf(this.#deps.ownership, other)
      planned.push(await files.read(other, record, (text) => planOtherFile(target, other, text, record)))
    }
    return planned
  }

  /** What is saved with the change. */
  #outcomeOf(
    target: ConfigTarget,
    { main, chosen }: { readonly main: FileChange; readonly chosen: Chosen | null },
    newKey: ReturnType<GatewayKeys['draft']> | null,
    by: Caller,
    others: readonly ReturnType<typeof planOtherFile>[],
    otherDiff: string,
  ): Pick<PlannedChange, 'records' | 'removedKeys' | 'audit'> {
    const { text, trace, madeFile, takenOver, plan } = main
    const { entries, taken } = plan
    const { keys, removedKeys } = keysAfter(this.#deps, target, { text, entries, taken }, newKey, by)
    const record = {
      ...recordKey(target, target.config.path, target.config.keyPath),
      trace,
      made_file: madeFile,
      entries,
      keys,
      taken_over: takenOver,
      chosen: chosenSince(plan, recordOf(this.#deps.ownership, target.config), chosen),
    }
    const isAccepted = (plan.accepted?.length ?? 0) > 0
    const isChanged = [...others, main].some(({ next }) => next !== undefined)
    return {
      records: [...others.map((other) => other.record), record],
      removedKeys,
      audit: isAccepted
        ? auditOf('agent_config_accepted', target, main, otherDiff, by)
        : isChanged
          ? auditOf('agent_config_changed', target, main, otherDiff, by)
          : null,
    }
  }

  /** Adds or updates these entries, and removes or disables others: by name, or with `replace` all that are managed. */
  #put(
    agent: string,
    options: ChangeOptions,
    by: Caller,
    desired: readonly DesiredEntry[],
    { replace, remove, disable = [], registered = [] }: Others,
  ): Promise<ChangeReport> {
    const target = this.#targetOf(agent, options)
    return this.change(target, options, by, {
      action: 'set',
      plan: (_, current) => {
        const definitionOf = (name: string) =>
          current.entries.find((entry) => entry.name === name)?.definition
        const off = disable.map((name) => {
          const server = linkedServer(definitionOf(name) ?? null, registered, this.#deps.secretOf)
          return { name, server_id: server?.id ?? null }
        })
        return planSet(target, current, desired, { replace, remove, disable: off })
      },
    })
  }

  /** One entry for each server. Existing entries get the new key too, because the old key cannot be read back. */
  async #setThroughGateway(
    agent: string,
    ids: readonly string[],
    options: ChangeOptions,
    replace: boolean,
    by: Caller,
  ): Promise<ChangeReport> {
    const isBridge = agentOf(agent).http === null
    if (isBridge && !options.dry_run) await this.#deps.gateway.program.keep()
    const servers = await Promise.all(ids.map((id) => this.#find(id)))
    const named = new Set(servers.map(({ id }) => id))
    return this.change(this.#targetOf(agent, options), options, by, {
      action: 'set',
      keyKind: 'gateway',
      plan: (target, current, key) => {
        const leading = (name: string, serverId: string, isBridge: boolean) =>
          leadingEntry(this.#deps, { name, serverId, key, isBridge })
        const others = current.entries.flatMap(({ name, definition }) => {
          const existing = Object.hasOwn(current.owned, name) ? readGatewayEntry(definition) : undefined
          if (replace || !existing || existing.serverId === null || named.has(existing.serverId)) return []
          return [leading(name, existing.serverId, existing.bridge)]
        })
        const desired = [...servers.map(({ id }) => leading(id, id, isBridge)), ...others]
        return planSet(target, current, desired, { replace })
      },
    })
  }

  #targetOf(agent: string, options: ChangeOptions): ConfigTarget {
    return configTarget(agentOf(agent), this.#deps.platform, options)
  }

  async #find(key: string): Promise<RegisteredServer> {
    const servers = await this.#deps.registered()
    const found = servers.find(({ id }) => id === key) ?? servers.find(({ name }) => name === key)
    if (found) return found
    throw unknownName(
      `No server has the id or name '${key.slice(0, 100)}'`,
      key,
      servers.map(({ id }) => id),
      'GET /api/servers and GET /api/http-servers list the registered servers',
    )
  }
}

const doNothing = async () => {}

export function publishChange(facts: FactBus, { agent, config }: ConfigTarget): void {
  const { scope, path } = config
  facts.publish('agent_changed', { agent_type: agent.type, scope, path, by: 'toolroom', drift: [] })
}
