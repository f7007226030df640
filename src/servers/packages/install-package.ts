import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diskFull } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { markFolder } from '../../kernel/files/durable-file.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { JobHandle } from '../jobs/jobs.ts'
import { npmInstall, npmInstallWithScripts } from './npm-install.ts'
import { checksSources, type Npm, type NpmVersions } from './npm-version.ts'
import { type PackageFolders, type Placed, packageFolder, removeFolder } from './package-folders.ts'
import type { InstalledVersion, PackageRecord, PackageStore } from './package-record.ts'
import { idOf, type Spec } from './package-spec.ts'
import { readInstalled } from './read-installed-version.ts'
import { type Chosen, choose, type ManifestReader, type Registry } from './registry/npm-registry.ts'
import { checkLock, type IsRegistryUrl, walkDependencies } from './registry-only-dependencies.ts'

export interface InstallDeps {
  readonly store: PackageStore
  readonly folders: PackageFolders
  readonly registry: Pick<Registry, 'packument' | 'manifestReader' | 'contains' | 'hasDateLimit'>
  readonly npm: Npm
  /** Throws when npm is too old. */
  readonly npmVersions: () => Promise<NpmVersions>
  readonly now: () => number
  readonly minAgeDays: () => number
  /** The version of Node that will run the package. */
  readonly node: string
}

export interface Fetched {
  readonly chosen: Chosen
  readonly installed: InstalledVersion
  /** The staging folder; null when this version is already installed. */
  readonly staging: string | null
}

/** Resolves the version, and installs it with npm into a staging folder. */
export async function fetchPackage(
  deps: InstallDeps,
  spec: Spec,
  allowScripts: boolean,
  { signal, phase, line }: JobHandle,
): Promise<Fetched> {
  phase('resolving')
  const packument = await deps.registry.packument(spec.name, { credentials: true, signal })
  const chosen = choose(packument, spec, deps.node, { now: deps.now(), minAgeDays: deps.minAgeDays() })
  const current = deps.store.all().find(({ name }) => name === spec.name)?.current
  const isComplete =
    current !== undefined &&
    existsSync(packageFolder(deps.folders.of({ id: idOf(spec.name) }, current.version), spec.name))
  if (isComplete && current.version === chosen.version && current.scripts_ran === allowScripts)
    return { chosen, installed: { ...current, requested: spec.requested }, staging: null }
  const versions = await deps.npmVersions()
  const staging = deps.folders.newStaging()
  const reader = deps.registry.manifestReader({ credentials: true, signal })
  try {
    if (!checksSources(versions)) {
      const walk = { ...reader, ...versions, hasDateLimit: await deps.registry.hasDateLimit() }
      await walkDependencies({ name: chosen.name, wanted: chosen.version }, walk)
    }
    phase('installing')
    mkdirSync(staging, { recursive: true, mode: 0o700 })
    markFolder(staging)
    const manifest = { private: true, dependencies: { [chosen.name]: chosen.version } }
    writeFileSync(join(staging, 'package.json'), `${JSON.stringify(manifest)}\n`, { mode: 0o600 })
    const what = { name: chosen.name, folder: staging, versions }
    await npmInstall(deps.npm, what, { signal, onLine: line })
    await checkLock(staging, chosen.name, registryUrls(deps.registry, reader))
    if (allowScripts) await npmInstallWithScripts(deps.npm, what, { signal, onLine: line })
    phase('checking')
    const installed = await readInstalled(staging, chosen, { scriptsRan: allowScripts, now: deps.now() })
    signal.throwIfAborted()
    return { chosen, installed, staging }
  } catch (error) {
    await removeFolder(staging)
    throw explained(chosen.name, error)
  } finally {
    reader.close()
  }
}

/** A URL below that of the registry, or one that the registry itself names. */
const registryUrls =
  (registry: InstallDeps['registry'], { manifestsOf }: ManifestReader): IsRegistryUrl =>
  async (name, version, url) =>
    (await registry.contains(name, url)) || (await manifestsOf(name))?.versions.get(version)?.tarball === url

/**
 * Makes the fetched version the one in use and finishes the work that depends on it. The version before it is kept, older
 * ones are deleted. When anything fails, the state before is restored and the fetched version is deleted.
 */
export async function activate<T>(
  { store, folders }: Pick<InstallDeps, 'store' | 'folders'>,
  { chosen, installed, staging }: Fetched,
  { audit, undone, finish }: Activation<T>,
): Promise<T> {
  const { name, latest } = chosen
  const before = store.all().find((each) => each.name === name)
  const isOther = before !== undefined && before.current.version !== installed.version
  const previous = isOther ? before.current : (before?.previous ?? null)
  const record = { id: idOf(name), name, latest, current: installed, previous }
  let placed: Placed | undefined
  let isSaved = false
  let result: T
  try {
    placed = folders.place(staging, record, installed.version)
    await store.save(record, audit)
    isSaved = true
    placed.use()
    result = await finish(record)
  } catch (error) {
    if (isSaved) await (before ? store.restore(before, undone) : store.remove(name, undone))
    placed?.undo(before)
    if (staging !== null) await removeFolder(staging)
    throw explained(name, error)
  }
  await placed.keep()
  const former = before?.previous?.version
  if (isOther && former !== undefined && former !== installed.version && former !== before.current.version)
    await folders.remove(record, former)
  return result
}

interface Activation<T> {
  readonly audit: AuditEntry | null
  /** The audit entry when `finish` fails. */
  readonly undone: AuditEntry
  readonly finish: (record: PackageRecord) => Promise<T>
}

export const undoneEntry = (subject: string, by: Caller, detail: AuditEntry['detail']): AuditEntry => ({
  action: 'package_install_undone',
  subject,
  ...by,
  detail,
})

function explained(name: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  return isFull ? diskFull(`The disk is full, so '${name}' was not installed`, error) : error
}
