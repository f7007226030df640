import { existsSync } from 'node:fs'
import { gt, valid } from 'semver'
import { AppError } from '../kernel/errors.ts'
import type { JobHandle, Jobs } from '../kernel/jobs.ts'
import type { Program } from '../kernel/server-state.ts'
import { isoTime } from '../kernel/time.ts'
import { Turns } from '../kernel/turns.ts'
import type { Caller } from '../kernel/wire.ts'
import type { Network } from '../net/connection-pool.ts'
import { remove as removeFolder } from './folders.ts'
import { packageFolder } from './inspect.ts'
import { adopt, fetchPackage } from './install.ts'
import type { PackageRecord } from './package-store.ts'
import type {
  Installed,
  InstallInput,
  PackageView,
  SearchAnswer,
  SearchInput,
  Updated,
} from './packages.schema.ts'
import { chooseBin, installedProgram } from './program.ts'
import { searchMcpRegistry } from './registry/mcp-registry.ts'
import type { Registry } from './registry/registry.ts'
import { parseSpec, type Spec } from './spec.ts'
import { type UpdateDeps, updatePackage } from './update.ts'

export interface Deps extends UpdateDeps {
  readonly registry: Pick<Registry, 'packument' | 'search'>
  readonly jobs: Pick<Jobs, 'run'>
  readonly mcpRegistry: string
  /** npm's proxy and certificate authorities, used for the MCP Registry too. */
  readonly network: () => Promise<Partial<Network>>
  /** Throws when the name is taken. */
  readonly mayCreate: (name: string) => Promise<void>
  /** Makes a server and starts it; says how that went. */
  readonly createServer: (
    input: { name: string; package: string; command: string; args: string[]; env: Record<string, string> },
    by: Caller,
  ) => Promise<NonNullable<Installed['server']>>
}

export interface UnderWay<T> {
  readonly job: string
  readonly settled: Promise<T>
}

/** Tool servers that come as npm packages: installed once, pinned, and run by their file. */
export function createPackages(deps: Deps) {
  const { store, folders, jobs } = deps
  /** One change of one package at a time, whoever asks for which version. */
  const turns = new Turns()

  function find(key: string): PackageRecord {
    const all = store.all()
    const record = all.find(({ name }) => name === key) ?? all.find(({ id }) => id === key)
    if (!record)
      throw new AppError(
        'package_not_found',
        `No package with the name or id '${key.slice(0, 100)}' is installed`,
      )
    return record
  }

  async function view(record: PackageRecord): Promise<PackageView> {
    const { id, name, latest, current, previous } = record
    const path = folders.of(record, current.version)
    const users = await deps.using(name)
    return {
      id,
      name,
      version: current.version,
      requested: current.requested,
      latest,
      previous_version: previous?.version ?? null,
      status: existsSync(packageFolder(path, name)) ? 'installed' : 'broken',
      bin: { ...current.bin },
      path,
      size_bytes: current.size_bytes,
      integrity: current.integrity,
      license: current.license,
      deprecated: current.deprecated,
      engines: current.engines,
      has_install_scripts: current.scripts.length > 0,
      scripts_skipped: current.scripts_ran ? [] : [...current.scripts],
      update_available: isNewer(latest, current.version),
      asks_for_env: current.asks_for_env.map((asked) => ({ ...asked })),
      used_by: users.map((server) => server.id),
      installed_at: isoTime(current.installed_at),
    }
  }

  async function install(input: InstallInput, handle: JobHandle, by: Caller): Promise<Installed> {
    const { allow_scripts = false } = input
    const spec = parseSpec(input.name, input.version)
    const fetched = await fetchPackage(deps, spec, allow_scripts, handle)
    const { name, version } = fetched.chosen
    try {
      // Before anything is kept: what would make the whole request fail must not leave half of it.
      if (input.create_server) {
        chooseBin({ id: '', name, latest: null, current: fetched.installed, previous: null }, input.bin)
        await deps.mayCreate(serverNameOf(name))
      }
    } catch (error) {
      if (fetched.staging !== null) await removeFolder(fetched.staging)
      throw error
    }
    handle.phase('finishing')
    const detail = { name, version, integrity: fetched.installed.integrity, allow_scripts }
    const audit = { action: 'package_installed', subject: name, ...by, detail }
    const before = store.all().find((each) => each.name === name)
    const record = await adopt(deps, fetched, fetched.staging === null ? null : audit)
    if (before?.current.version !== record.current.version) await deps.switched(name)
    const server = input.create_server ? await makeServer(record, input, handle, by) : null
    return { ...(await view(record)), warnings: [...fetched.chosen.warnings], server }
  }

  async function update(name: string, spec: Spec, handle: JobHandle, by: Caller): Promise<Updated> {
    const { record, fetched, from, tools, tried } = await updatePackage(deps, find(name), spec, handle, by)
    const warnings = [...fetched.chosen.warnings]
    return { ...(await view(record)), warnings, from_version: from, tools, tried_with: tried }
  }

  async function rollback(record: PackageRecord, by: Caller): Promise<PackageView> {
    const { current, previous } = record
    if (!previous)
      throw new AppError('nothing_to_roll_back', `No earlier version of '${record.name}' is kept`)
    const back = { ...record, current: previous, previous: current }
    const detail = { name: record.name, from: current.version, to: previous.version }
    await store.save(back, { action: 'package_rolled_back', subject: record.id, ...by, detail })
    folders.point(back, previous.version)
    await deps.switched(record.name)
    return view(back)
  }

  async function remove(record: PackageRecord, force: boolean, by: Caller): Promise<void> {
    const servers = (await deps.using(record.name)).map(({ id }) => id)
    if (servers.length > 0 && !force)
      throw new AppError('package_in_use', `'${record.name}' is used by ${servers.join(', ')}`, {
        members: { servers },
        hint: 'Delete these servers first, or send ?force=true',
      })
    const detail = { name: record.name, version: record.current.version, servers }
    await store.remove(record.name, { action: 'package_removed', subject: record.id, ...by, detail })
    await folders.drop(record)
    await deps.switched(record.name)
  }

  async function makeServer(record: PackageRecord, input: InstallInput, handle: JobHandle, by: Caller) {
    handle.phase('creating a server')
    const command = chooseBin(record, input.bin)
    const { args = [], env = {} } = input
    const name = serverNameOf(record.name)
    return deps.createServer({ name, package: record.name, command, args, env }, by)
  }

  return {
    find,
    view,
    list: async (): Promise<PackageView[]> => Promise.all(store.all().map(view)),

    /** Nothing half is there after a crash. Call before anything is started. */
    cleanUp(): void {
      folders.cleanUp(store.all())
    },

    install(input: InstallInput, by: Caller): UnderWay<Installed> {
      const { name, wanted } = parseSpec(input.name, input.version) // refused before there is a job
      const { allow_scripts = false, create_server = false, bin, args, env } = input
      const key = JSON.stringify(['install', name, wanted, allow_scripts, create_server, bin, args, env])
      const { id, settled } = jobs.run('package_install', name, key, (handle) =>
        turns.take(name, () => install(input, handle, by)),
      )
      return { job: id, settled }
    },

    update(key: string, version: string | undefined, by: Caller): UnderWay<Updated> {
      const { name } = find(key)
      const spec = parseSpec(name, version)
      const { id, settled } = jobs.run('package_update', name, JSON.stringify(['update', spec]), (handle) =>
        turns.take(name, () => update(name, spec, handle, by)),
      )
      return { job: id, settled }
    },

    rollback: (key: string, by: Caller): Promise<PackageView> =>
      turns.take(find(key).name, () => rollback(find(key), by)),

    remove: (key: string, force: boolean, by: Caller): Promise<void> =>
      turns.take(find(key).name, () => remove(find(key), force, by)),

    async search(
      { source = 'npm', query, size, from, mcp_only, cursor }: SearchInput,
      credentials: boolean,
    ): Promise<SearchAnswer> {
      const installed = (name: string) =>
        store.all().find((each) => each.name === name)?.current.version ?? null
      if (source === 'mcp_registry') {
        const input = { query, ...(size !== undefined && { size }), ...(cursor !== undefined && { cursor }) }
        const found = await searchMcpRegistry(deps.mcpRegistry, input, {
          now: deps.now(),
          network: await deps.network(),
        })
        const items = found.items.map(({ reason, create, ...item }) => ({
          ...plain(item),
          installed: installed(create && 'package' in create ? create.package.name : item.name),
          source,
          create: create && { ...create },
          note: reason,
          required_env: [...item.required_env],
          required_headers: [...item.required_headers],
          required_args: [...item.required_args],
        }))
        return { items, total: null, next_from: null, next_cursor: found.next_cursor, search_available: true }
      }
      const asked = {
        query,
        ...(size !== undefined && { size }),
        ...(from !== undefined && { from }),
        ...(mcp_only !== undefined && { mcp_only }),
      }
      const { items, total, next_from, search_available } = await deps.registry.search(asked, { credentials })
      return {
        items: items.map((item) => ({ ...plain(item), installed: installed(item.name), source })),
        total,
        next_from,
        next_cursor: null,
        search_available,
      }
    },

    programOf: (name: string, program: string): Program =>
      installedProgram(
        folders,
        name,
        store.all().find((each) => each.name === name),
        program,
      ),

    /** For a new server: which of the package's programs is meant. */
    binOf: (name: string, wanted: string | undefined): string => chooseBin(find(name), wanted),
  }
}
export type Packages = ReturnType<typeof createPackages>

const serverNameOf = (name: string): string => name.replace(/^@[^/]+\//, '').slice(0, 64)

/** Lists of the wire are not read-only. */
function plain<T extends { readonly keywords: readonly string[]; readonly trust: readonly object[] }>(
  item: T,
) {
  return { ...item, keywords: [...item.keywords], trust: item.trust.map((fact) => ({ ...fact })) as [] }
}

const isNewer = (latest: string | null, version: string): boolean =>
  latest !== null && valid(latest) !== null && valid(version) !== null && gt(latest, version)
