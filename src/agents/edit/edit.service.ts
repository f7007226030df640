import { randomBytes } from 'node:crypto'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { FactBus } from '../../kernel/facts.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { Platform } from '../catalogue/config-places.ts'
import type { RegisteredServer } from '../catalogue/definition.ts'
import { agentOf, assertMayChange, type ConfigTarget, configTarget } from '../files/config-target.ts'
import { type ChangeRequest, type FileDeps, mainFileEdit, recordKey } from './change-file.ts'
import { type CurrentConfig, type Plan, planRemove, planSet } from './change-plan.ts'
import { auditOf, publishChange, reportOf } from './change-report.ts'
import { type DesiredEntry, desiredFromInput, desiredFromServer } from './desired-entry.ts'
import type { AddHttpServer, ChangeOptions, ChangeReport, PutServers } from './edit.schema.ts'
import { changeOtherFiles } from './other-files.ts'

export interface EditDeps extends FileDeps {
  readonly platform: Platform
  readonly facts: FactBus
  readonly registered: () => Promise<readonly RegisteredServer[]>
}

/** Changes of agents' files. Each is written atomically and can be undone. */
export function createEdit(deps: EditDeps) {
  async function change(
    agent: string,
    options: ChangeOptions,
    by: Caller,
    action: ChangeRequest['action'],
    plan: (target: ConfigTarget, current: CurrentConfig) => Plan,
  ): Promise<ChangeReport> {
    const target = configTarget(agentOf(agent), deps.platform, options)
    assertMayChange(target, options.create)
    const request: ChangeRequest = {
      target,
      options,
      by,
      action,
      changeId: randomBytes(6).toString('hex'),
      plan: (current) => plan(target, current),
    }
    const edit = mainFileEdit(deps, request)
    const preview = edit.preview()
    // Disabled servers are listed first: a listed name without an entry has no effect.
    const otherDiff = await changeOtherFiles(deps, request, preview.plan.otherFiles)
    if (options.dry_run) return reportOf(target, options, preview, otherDiff)

    const written = await edit.write()
    const { place } = target
    const { trace, madeFile: made_file } = written
    const record = { ...recordKey(target, place.path, place.keyPath), trace, made_file }
    const isChanged = written.backup !== null || otherDiff !== ''
    const audit = isChanged ? auditOf('agent_config_changed', target, written, otherDiff, by) : null
    await deps.ownership.save({ ...record, entries: written.plan.entries }, audit)
    if (isChanged) publishChange(deps.facts, target)
    return reportOf(target, options, written, otherDiff)
  }

  async function find(key: string): Promise<RegisteredServer> {
    const servers = await deps.registered()
    const found = servers.find(({ id }) => id === key) ?? servers.find(({ name }) => name === key)
    if (!found) throw unknownServer(key)
    return found
  }

  /** `desired` gets the current entries, because what to write may depend on them. */
  async function put(
    agent: string,
    options: ChangeOptions,
    by: Caller,
    desired: (current: CurrentConfig) => readonly DesiredEntry[],
    replace: boolean,
  ): Promise<ChangeReport> {
    return change(agent, options, by, 'set', (target, current) =>
      planSet(target, current, desired(current), replace),
    )
  }

  return {
    put,
    find,

    async set(agent: string, input: PutServers, by: Caller): Promise<ChangeReport> {
      agentOf(agent)
      const { servers, server_ids, mode = 'merge', via: _, ...options } = input
      if ((servers === undefined) === (server_ids === undefined))
        throw invalidField('/servers', 'or server_ids must be given, but not both')
      const desired = Object.entries(servers ?? {}).map(([name, entry]) => desiredFromInput(name, entry))
      for (const id of server_ids ?? []) desired.push(desiredFromServer(await find(id)))
      return put(agent, options, by, () => desired, mode === 'replace')
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
        desired = { ...desiredFromServer(server), name: name ?? server.id, enabled }
      }
      return put(agent, options, by, () => [desired], false)
    },

    async remove(
      agent: string,
      names: readonly string[] | undefined,
      options: ChangeOptions,
      by: Caller,
    ): Promise<ChangeReport> {
      return change(agent, options, by, 'remove', (target, current) => planRemove(target, current, names))
    },
  }
}
export type EditService = ReturnType<typeof createEdit>

const unknownServer = (key: string): AppError =>
  new AppError('not_found', `No server has the id or name '${key.slice(0, 100)}'`, {
    hint: 'GET /api/servers and GET /api/http-servers list the registered servers',
  })
