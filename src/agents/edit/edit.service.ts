import { randomBytes } from 'node:crypto'
import { unknownName } from '../../kernel/did-you-mean.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { FactBus } from '../../kernel/facts.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { Platform } from '../catalogue/config-files.ts'
import type { RegisteredServer } from '../catalogue/definition.ts'
import {
  agentOf,
  assertMayChange,
  type ConfigTarget,
  configTarget,
  lockedFile,
  pathsOf,
} from '../files/config-target.ts'
import { type OwnershipStore, recordOf } from '../files/ownership.ts'
import { computeChange, recordKey } from './change-file.ts'
import { type CurrentConfig, type Plan, planRemove, planSet } from './change-plan.ts'
import { auditOf, publishChange, reportOf } from './change-report.ts'
import { type DesiredEntry, desiredFromInput, desiredFromServer } from './desired-entry.ts'
import type { AddHttpServer, ChangeOptions, ChangeReport, PutServers } from './edit.schema.ts'
import type { ChangeRequest, FileChanges } from './file-changes.ts'
import { type GatewayKeys, type KeyKind, keyName, keysAfter } from './gateway-keys.ts'
import { planOtherFiles } from './other-files.ts'
import type { OfferedTools } from './take-over.ts'

export interface EditDeps {
  readonly platform: Platform
  readonly facts: FactBus
  readonly changes: FileChanges
  readonly ownership: OwnershipStore
  readonly gateway: GatewayKeys
  /** The folder where we record which agents' locks we hold. */
  readonly lockLedger: string
  readonly registered: () => Promise<readonly RegisteredServer[]>
  /** What the gateway offers to an agent. */
  readonly offeredTo: (agentType: string) => OfferedTools
}

interface Put {
  /** Removes all other managed entries. */
  readonly replace: boolean
  /** Names of entries that leave in the same change. */
  readonly remove?: readonly string[] | undefined
  /** The entries lead to the gateway, with a new key. */
  readonly keyKind?: KeyKind
  /** Completes the plan for the gateway entry: what happens to entries whose servers the gateway offers. */
  readonly offered?: (target: ConfigTarget, plan: Plan, current: CurrentConfig) => Plan
}

interface Change {
  readonly action: 'set' | 'remove' | 'restore'
  readonly planFor: (target: ConfigTarget, current: CurrentConfig, key: string) => Plan
  readonly keyKind?: KeyKind | undefined
  /** The bytes that the file gets instead of an edit; see `computeChange`. */
  readonly exact?: Parameters<typeof computeChange>[5]
}

type NewGatewayKey = ReturnType<GatewayKeys['draft']>

/** Changes of agents' files. Each is written atomically and can be undone. */
export function createEdit(deps: EditDeps) {
  const { platform, facts, changes, ownership, gateway, lockLedger } = deps

  const change = (agent: string, options: ChangeOptions, by: Caller, what: Change): Promise<ChangeReport> =>
    changeFile(configTarget(agentOf(agent), platform, options), options, by, what)

  async function changeFile(
    target: ConfigTarget,
    options: ChangeOptions,
    by: Caller,
    { action, planFor, keyKind, exact }: Change,
  ): Promise<ChangeReport> {
    assertMayChange(target, options.create)
    const request: ChangeRequest = {
      target,
      paths: pathsOf(target),
      lock: lockedFile(lockLedger, target).lock,
      by,
      action,
      changeId: randomBytes(6).toString('hex'),
      dryRun: options.dry_run ?? false,
    }
    const newKey = keyKind ? gateway.draft(target.agent.type, keyName(keyKind, target), by) : null
    const planOnce = (current: CurrentConfig) => planFor(target, current, newKey?.key ?? '')
    const { planned, kept } = await changes.run(request, () =>
      plan(request, options, planOnce, newKey, exact),
    )
    if (kept.size > 0) publishChange(facts, target)
    return reportOf(target, options, planned.main, planned.otherDiff, kept)
  }

  /** Everything that the request changes, by the current content of the files. */
  async function plan(
    request: ChangeRequest,
    options: ChangeOptions,
    planFor: (current: CurrentConfig) => Plan,
    newKey: NewGatewayKey | null,
    exact: Change['exact'],
  ) {
    const { target, by } = request
    const { place } = target
    const before = recordOf(ownership, place.path, place.keyPath)
    const reading = await changes.read(lockedFile(lockLedger, target), place.format, before, (content) =>
      computeChange(target, options.revision, planFor, content, before, exact),
    )
    const main = reading.result
    const others = await planOtherFiles(deps, request, main.plan.otherFiles)
    const otherDiff = others.map(({ diff }) => diff).join('')
    const { added, updated, removed, parked, restored, entries, taken } = main.plan
    const { keys, removedKeys } = keysAfter(deps, target, { text: main.text, entries, taken }, newKey, by)
    const record = {
      ...recordKey(target, place.path, place.keyPath),
      trace: main.trace,
      made_file: main.madeFile,
      entries,
      keys,
      taken_over: main.takenOver,
    }
    // Disabled servers are listed first: a listed name without an entry has no effect.
    const steps = [
      ...others.map(({ step }) => step),
      { ...reading, names: [...added, ...updated, ...removed, ...parked, ...restored] },
    ]
    const isChanged = steps.some(({ result }) => result.next !== undefined)
    return {
      main,
      otherDiff,
      steps,
      records: [...others.map((other) => other.record), record],
      newKey,
      removedKeys,
      audit: isChanged ? auditOf('agent_config_changed', target, main, otherDiff, by) : null,
    }
  }

  async function find(key: string): Promise<RegisteredServer> {
    const servers = await deps.registered()
    const found = servers.find(({ id }) => id === key) ?? servers.find(({ name }) => name === key)
    if (!found) throw unknownServer(key, servers)
    return found
  }

  /** `desired` gets the current entries, because what to write may depend on them, and the new key. */
  async function put(
    agent: string,
    options: ChangeOptions,
    by: Caller,
    desired: (current: CurrentConfig, key: string) => readonly DesiredEntry[],
    { replace, remove, keyKind, offered }: Put,
  ): Promise<ChangeReport> {
    const planFor = (target: ConfigTarget, current: CurrentConfig, key: string) => {
      const plan = planSet(target, current, desired(current, key), { replace, remove })
      return offered ? offered(target, plan, current) : plan
    }
    return change(agent, options, by, { action: 'set', planFor, keyKind })
  }

  return {
    changeFile,
    put,
    find,

    async set(agent: string, input: PutServers, by: Caller): Promise<ChangeReport> {
      agentOf(agent)
      const { servers, server_ids, enable, remove, mode = 'merge', via: _, ...options } = input
      if (servers && server_ids) throw invalidField('/servers', 'must not be given together with server_ids')
      if (!servers && !server_ids && !remove)
        throw invalidField('/servers', 'must be given, or server_ids, or remove')
      const desired = Object.entries(servers ?? {}).map(([name, entry]) => desiredFromInput(name, entry))
      for (const id of server_ids ?? [])
        desired.push({
          ...desiredFromServer(agentOf(agent), await find(id)),
          ...(enable && { enabled: true }),
        })
      return put(agent, options, by, () => desired, { replace: mode === 'replace', remove })
    },

    async addHttp(agent: string, input: AddHttpServer, by: Caller): Promise<ChangeReport> {
      agentOf(agent)
      const { server_id, name, type, url, headers, enabled, ...options } = input
      if ((server_id === undefined) === (url === undefined))
        throw invalidField('/server_id', 'or a url with a name must be given, but not both')
      let desired: DesiredEntry
      if (server_id === undefined) {
        if (name === undefined) throw invalidField('/name', 'is required with a url')
        const entry = {
          url,
          ...(type && { type }),
          ...(headers && { headers }),
          ...(enabled !== undefined && { enabled }),
        }
        desired = desiredFromInput(name, entry as never, '')
      } else {
        const server = await find(server_id)
        const { definition } = server
        if (definition instanceof AppError || definition.type === 'stdio')
          throw invalidField('/server_id', 'must be an HTTP server')
        desired = { ...desiredFromServer(agentOf(agent), server), name: name ?? server.id, enabled }
      }
      return put(agent, options, by, () => [desired], { replace: false })
    },

    async remove(
      agent: string,
      names: readonly string[] | undefined,
      options: ChangeOptions,
      by: Caller,
    ): Promise<ChangeReport> {
      const planFor: Change['planFor'] = (target, current) => planRemove(target, current, names)
      return change(agent, options, by, { action: 'remove', planFor })
    },
  }
}
export type EditService = ReturnType<typeof createEdit>

const unknownServer = (key: string, servers: readonly RegisteredServer[]): AppError =>
  unknownName(
    `No server has the id or name '${key.slice(0, 100)}'`,
    key,
    servers.map(({ id }) => id),
    'GET /api/servers and GET /api/http-servers list the registered servers',
  )
