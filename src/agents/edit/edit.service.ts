import { randomBytes } from 'node:crypto'
import { invalidField } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { Platform } from '../catalogue/config-places.ts'
import { agentOf, assertMayChange, whereOf } from '../files/config-target.ts'
import type { Where } from '../read/read-entries.ts'
import {
  changeElsewhere,
  changeFile,
  type FileChange,
  type FileDeps,
  type Request,
  recordAfter,
} from './change-file.ts'
import { type Now, planRemove, planSet } from './change-plan.ts'
import { type Registered, unknownServer, type Wanted, wantedEntry, wantedServer } from './desired-entry.ts'
import type { AddHttpServer, ChangeReport, How, PutServers } from './edit.schema.ts'

export interface EditingDeps extends FileDeps {
  readonly platform: Platform
  readonly facts: FactBus
  readonly registered: () => Promise<readonly Registered[]>
}

/** Changes of agents' files, each one whole and with a way back. */
export function createEditing(deps: EditingDeps) {
  async function run(request: Request): Promise<ChangeReport> {
    const { where, how } = request
    assertMayChange(where, how.create)
    // First the agent's own list of what is off: a name in it that no entry has yet does no harm.
    let before = ''
    const preview = await changeFile(deps, { ...request, how: { ...how, dry_run: true } })
    if (preview.plan.elsewhere.length > 0)
      before = await changeElsewhere(deps, request, preview.plan.elsewhere)
    const change = how.dry_run ? preview : await changeFile(deps, request)
    if (!how.dry_run) await remember(request, change, before)
    return reportOf(request, change, before)
  }

  async function remember({ where, by }: Request, change: FileChange, elsewhere: string): Promise<void> {
    const { agent, place } = where
    const { added, updated, removed } = change.plan
    const isChanged = change.backup !== null || elsewhere !== ''
    const audit: AuditEntry = {
      action: 'agent_config_changed',
      subject: agent.type,
      request_id: by.request_id,
      detail: {
        scope: place.scope,
        path: place.path,
        added,
        updated,
        removed,
        diff: change.diff + elsewhere,
      },
    }
    await deps.ownership.save(recordAfter(where, change), isChanged ? audit : null)
    if (isChanged)
      deps.facts.publish('agent_changed', {
        agent_type: agent.type,
        scope: place.scope,
        path: place.path,
        by: 'toolroom',
        drift: [],
      })
  }

  async function find(key: string): Promise<Registered> {
    const servers = await deps.registered()
    const found = servers.find(({ id }) => id === key) ?? servers.find(({ name }) => name === key)
    if (!found) throw unknownServer(key)
    return found
  }

  const requestFor = (
    key: string,
    how: How,
    by: Caller,
    action: Request['action'],
    plan: (where: Where) => Request['plan'],
  ): Request => {
    const where = whereOf(agentOf(key), deps.platform, how)
    return { where, how, by, action, change: randomBytes(6).toString('hex'), plan: plan(where) }
  }

  /** What is wanted may depend on what is there. */
  async function put(
    key: string,
    how: How,
    by: Caller,
    wanted: (now: Now) => readonly Wanted[],
    replace: boolean,
  ): Promise<ChangeReport> {
    const plan = (where: Where) => (now: Now) => planSet(where, now, wanted(now), replace)
    return run(requestFor(key, how, by, 'set', plan))
  }

  return {
    async set(key: string, input: PutServers, by: Caller): Promise<ChangeReport> {
      agentOf(key)
      const { servers, server_ids, mode = 'merge', via: _, ...how } = input
      if ((servers === undefined) === (server_ids === undefined))
        throw invalidField('/servers', 'or server_ids must be given, one of both')
      const wanted: Wanted[] = Object.entries(servers ?? {}).map(([name, entry]) => wantedEntry(name, entry))
      for (const id of server_ids ?? []) wanted.push(wantedServer(await find(id)))
      return put(key, how, by, () => wanted, mode === 'replace')
    },

    put,
    find,

    async addHttp(key: string, input: AddHttpServer, by: Caller): Promise<ChangeReport> {
      agentOf(key)
      const { server_id, name, type, url, headers, enabled, scope, project_path, dry_run, revision, create } =
        input
      const how = { scope, project_path, dry_run, revision, create } as How
      if ((server_id === undefined) === (url === undefined))
        throw invalidField('/server_id', 'or a url with a name must be given, one of both')
      let wanted: Wanted
      if (server_id === undefined) {
        if (name === undefined) throw invalidField('/name', 'is needed with a url')
        wanted = wantedEntry(
          name,
          {
            url,
            ...(type && { type }),
            ...(headers && { headers }),
            ...(enabled !== undefined && { enabled }),
          } as never,
          '',
        )
      } else {
        const server = await find(server_id)
        if (server.definition.type === 'stdio') throw invalidField('/server_id', 'must be an HTTP server')
        wanted = { ...wantedServer(server), name: name ?? server.id, enabled }
      }
      return run(requestFor(key, how, by, 'set', (where) => (now) => planSet(where, now, [wanted], false)))
    },

    async remove(
      key: string,
      names: readonly string[] | undefined,
      how: How,
      by: Caller,
    ): Promise<ChangeReport> {
      return run(requestFor(key, how, by, 'remove', (where) => (now) => planRemove(where, now, names)))
    },
  }
}

export function reportOf(
  { where, how }: Pick<Request, 'where' | 'how'>,
  change: FileChange,
  elsewhere: string,
): ChangeReport {
  const { agent, place } = where
  const { added, updated, removed, warnings } = change.plan
  const lost = change.foreign
    ? [
        `Another program changed the file in the same moment; what it wrote is kept as backup ${change.foreign.id}`,
      ]
    : []
  return {
    agent_type: agent.type,
    scope: place.scope,
    path: place.path,
    dry_run: how.dry_run ?? false,
    changed: change.diff !== '' || elsewhere !== '',
    added: [...added],
    updated: [...updated],
    removed: [...removed],
    diff: change.diff + elsewhere,
    backup_id: change.backup?.id ?? null,
    revision: change.revision,
    reload_hint: agent.reload,
    warnings: [...warnings, ...lost],
  }
}
