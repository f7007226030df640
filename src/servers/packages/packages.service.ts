import { existsSync } from 'node:fs'
import { KeyedQueue } from '../../kernel/async/keyed-queue.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Network } from '../../net/connection-pool.ts'
import type { JobHandle, Jobs } from '../jobs/jobs.ts'
import { nameOfPackage } from '../shared/definition/server-name.ts'
import { activate, fetchPackage, undoneEntry } from './install-package.ts'
import { packageFolder, removeFolder } from './package-folders.ts'
import { chooseBin, findPackage } from './package-program.ts'
import type { PackageRecord } from './package-record.ts'
import { isNewer, parseSpec, type Spec } from './package-spec.ts'
import type {
  Installed,
  InstallInput,
  PackageView,
  RefreshedPackage,
  SearchAnswer,
  SearchInput,
  Updated,
} from './packages.schema.ts'
import { refreshPackages } from './refresh-latest-versions.ts'
import { searchMcpRegistry } from './registry/mcp-registry.ts'
import type { Registry } from './registry/npm-registry.ts'
import { type PreparedUpdate, prepareUpdate, switchVersion, type UpdateDeps } from './update-package.ts'

export interface Deps extends UpdateDeps {
  readonly registry: UpdateDeps['registry'] & Pick<Registry, 'search'>
  readonly jobs: Pick<Jobs, 'run'>
  readonly mcpRegistry: () => string
  /** The ids of servers that download a package with npx at each start. */
  readonly npxServersOf: (name: string) => Promise<readonly string[]>
  /** npm's proxy and certificate authorities, for the MCP Registry. */
  readonly network: () => Promise<Partial<Network>>
  /** Registers a server under this name, or the next free one like it, and starts it. */
  readonly createServer: (
    input: Required<Pick<InstallInput, 'args' | 'env'>> &
      Pick<InstallInput, 'agents'> & { name: string; package: string; command: string },
    by: Caller,
  ) => Promise<NonNullable<Installed['server']>>
}

export interface StartedJob<T> {
  readonly job: string
  readonly settled: Promise<T>
}

/** Tool servers from npm packages: installed once at an exact version, and run by their file. */
export class Packages {
  readonly #deps: Deps
  /** One change of a package at a time. */
  readonly #turns = new KeyedQueue()
  #refreshing: Promise<RefreshedPackage[]> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  find(key: string): PackageRecord {
    return findPackage(this.#deps.store.all(), key)
  }

  async view(record: PackageRecord): Promise<PackageView> {
    const { id, name, latest, current, previous } = record
    const path = this.#deps.folders.of(record, current.version)
    const servers = await this.#deps.serversOf(name)
    const npxServers = await this.#deps.npxServersOf(name)
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
      asks_for_env: current.asks_for_env.map((hint) => ({ ...hint })),
      used_by: servers.map((server) => server.id),
      npx_servers: [...npxServers],
      installed_at: isoTime(current.installed_at),
    }
  }

  list(): Promise<PackageView[]> {
    return Promise.all(this.#deps.store.all().map((record) => this.view(record)))
  }

  /** Installed versions that are outdated or deprecated. From memory. */
  states() {
    return this.#deps.store.all().map(({ name, latest, current: { version, deprecated } }) => {
      return { name, version, update: isNewer(latest, version) ? latest : null, deprecated }
    })
  }

  install(input: InstallInput, by: Caller): StartedJob<Installed> {
    const { name, requested } = parseSpec(input.name, input.version) // throws before there is a job
    const { allow_scripts = false, create_server = false, bin, args, env, agents } = input
    if (agents && !create_server) throw invalidField('/agents', 'needs create_server')
    const made = [create_server, bin, args, env, agents]
    const key = JSON.stringify(['install', name, requested, allow_scripts, ...made])
    const { id, settled } = this.#deps.jobs.run('package_install', name, key, (handle) =>
      this.#turns.take(name, () => this.#install(input, handle, by)),
    )
    return { job: id, settled }
  }

  /** Installs a package, if it is not installed yet, for a server that runs its program. */
  async installForServer(spec: string, by: Caller): Promise<{ name: string; bin: string }> {
    const { name, requested, kind } = parseSpec(spec)
    const installed = this.#named(name)?.current.version
    if (installed === undefined) await this.install({ name: spec }, by).settled
    else if (kind === 'version' && requested !== installed)
      throw new AppError('package_in_use', `${name} is installed in version ${installed}`)
    return { name, bin: this.binOf(name, undefined) }
  }

  /** With `hold`, the new version replaces the old one when the user lets the job go on. */
  update(key: string, version: string | undefined, hold: boolean, by: Caller): StartedJob<Updated> {
    const { name } = this.find(key)
    const spec = parseSpec(name, version)
    const sameAs = JSON.stringify(['update', spec, hold])
    const { id, settled } = this.#deps.jobs.run('package_update', name, sameAs, (handle) =>
      hold ? this.#updateWhenContinued(spec, handle, by) : this.#update(spec, handle, by),
    )
    return { job: id, settled }
  }

  /** Asks the registry for the newest versions of all packages. */
  refresh(): Promise<RefreshedPackage[]> {
    const inTurn = (name: string, work: () => Promise<void>) => this.#turns.take(name, work)
    this.#refreshing ??= refreshPackages({ ...this.#deps, inTurn }).finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  rollback(key: string, by: Caller): Promise<PackageView> {
    return this.#turns.take(this.find(key).name, () => this.#rollback(this.find(key), by))
  }

  remove(key: string, force: boolean, by: Caller): Promise<void> {
    return this.#turns.take(this.find(key).name, () => this.#remove(this.find(key), force, by))
  }

  async search(
    { source = 'npm', mcp_only, from, ...input }: SearchInput,
    credentials: boolean,
  ): Promise<SearchAnswer> {
    const { registry, mcpRegistry, network, now } = this.#deps
    const installed = (name: string) => this.#named(name)?.current.version ?? null
    if (source === 'mcp_registry') {
      const options = { now: now(), network: await network() }
      const found = await searchMcpRegistry(mcpRegistry(), input, options)
      const items = found.items.map(({ reason, ...item }) => ({
        ...item,
        installed: installed(item.create && 'package' in item.create ? item.create.package.name : item.name),
        note: reason,
      }))
      return { items, total: null, next_from: null, next_cursor: found.next_cursor, search_available: true }
    }
    const { items, ...page } = await registry.search({ ...input, mcp_only, from }, { credentials })
    return {
      ...page,
      items: items.map((item) => ({ ...item, installed: installed(item.name), source })),
      next_cursor: null,
    }
  }

  /** The program of a new server. */
  binOf(name: string, wanted: string | undefined): string {
    return chooseBin(this.find(name), wanted)
  }

  #named(name: string): PackageRecord | undefined {
    return this.#deps.store.all().find((record) => record.name === name)
  }

  async #install(input: InstallInput, handle: JobHandle, by: Caller): Promise<Installed> {
    const { restartServers } = this.#deps
    const { allow_scripts = false } = input
    const spec = parseSpec(input.name, input.version)
    const fetched = await fetchPackage(this.#deps, spec, allow_scripts, handle)
    const { name, version } = fetched.chosen
    try {
      // Checked before the package is recorded: a request that fails must not leave a package installed.
      if (input.create_server)
        chooseBin({ id: '', name, latest: null, current: fetched.installed, previous: null }, input.bin)
    } catch (error) {
      if (fetched.staging !== null) await removeFolder(fetched.staging)
      throw error
    }
    handle.phase('finishing')
    const detail = { name, version, integrity: fetched.installed.integrity, allow_scripts }
    const installed = { action: 'package_installed', subject: name, ...by, detail }
    let hasRestarted = false
    const finish = async (record: PackageRecord) => {
      if (fetched.staging !== null) {
        hasRestarted = true
        await restartServers(name)
      }
      return input.create_server ? this.#createServer(record, input, handle, by) : null
    }
    const audit = fetched.staging === null ? null : installed
    const undone = undoneEntry(name, by, { name, version })
    const activated = activate(this.#deps, fetched, { audit, undone, finish })
    const server = await activated.catch(async (error: unknown) => {
      if (hasRestarted) await restartServers(name) // with the version before, or none
      throw error
    })
    return { ...(await this.view(this.find(name))), warnings: [...fetched.chosen.warnings], server }
  }

  #createServer(record: PackageRecord, input: InstallInput, handle: JobHandle, by: Caller) {
    handle.phase('creating a server')
    const command = chooseBin(record, input.bin)
    const { args = [], env = {}, agents } = input
    const name = nameOfPackage(record.name)
    const seen = agents && { agents }
    return this.#deps.createServer({ name, package: record.name, command, args, env, ...seen }, by)
  }

  #update(spec: Spec, handle: JobHandle, by: Caller): Promise<Updated> {
    return this.#turns.take(spec.name, async () =>
      this.#switchTo(await prepareUpdate(this.#deps, this.find(spec.name), spec, handle), handle, by),
    )
  }

  /** Does not keep other changes of the package from taking place while it waits. */
  async #updateWhenContinued(spec: Spec, handle: JobHandle, by: Caller): Promise<Updated> {
    const { name } = spec
    const prepared = await this.#turns.take(name, () =>
      prepareUpdate(this.#deps, this.find(name), spec, handle),
    )
    const { record, fetched, tools } = prepared
    if (fetched.staging !== null) {
      const detail = { from: record.current.version, to: fetched.installed.version, tools }
      const { staging } = fetched
      await handle.untilContinued(detail, HOLD_MS).catch(async (error: unknown) => {
        await removeFolder(staging)
        throw error
      })
    }
    return this.#turns.take(name, () => this.#switchTo(prepared, handle, by))
  }

  async #switchTo(prepared: PreparedUpdate, handle: JobHandle, by: Caller): Promise<Updated> {
    const { record, fetched, tools, tried } = prepared
    const updated = await switchVersion(this.#deps, prepared, handle, by)
    return {
      ...(await this.view(updated)),
      warnings: [...fetched.chosen.warnings],
      from_version: record.current.version,
      tools,
      tried_with: [...tried],
    }
  }

  async #rollback(record: PackageRecord, by: Caller): Promise<PackageView> {
    const { store, folders, restartServers } = this.#deps
    const { current, previous } = record
    if (!previous)
      throw new AppError('nothing_to_roll_back', `No earlier version of '${record.name}' is kept`)
    const back = { ...record, current: previous, previous: current }
    const detail = { name: record.name, from: current.version, to: previous.version }
    const placed = folders.place(null, back, previous.version)
    try {
      await store.save(back, { action: 'package_rolled_back', subject: record.id, ...by, detail })
    } catch (error) {
      placed.undo()
      throw error
    }
    placed.use()
    await restartServers(record.name)
    return this.view(back)
  }

  async #remove(record: PackageRecord, force: boolean, by: Caller): Promise<void> {
    const { store, folders, serversOf, restartServers } = this.#deps
    const servers = (await serversOf(record.name)).map(({ id }) => id)
    if (servers.length > 0 && !force)
      throw new AppError('package_in_use', `'${record.name}' is used by ${servers.join(', ')}`, {
        members: { servers },
        hint: 'Delete these servers first, or send ?force=true',
      })
    const detail = { name: record.name, version: record.current.version, servers }
    await store.remove(record.name, { action: 'package_removed', subject: record.id, ...by, detail })
    await folders.remove(record)
    await restartServers(record.name)
  }
}

/** How long an update waits for the user. */
const HOLD_MS = 10 * 60_000
