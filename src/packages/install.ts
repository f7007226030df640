import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../kernel/errors.ts'
import type { JobHandle } from '../kernel/jobs.ts'
import { type PackageFolders, removeFolder } from './folders.ts'
import { inspect, packageFolder } from './inspect.ts'
import { type Npm, npmInstall } from './npm.ts'
import type { InstalledVersion, PackageRecord, PackageStore } from './package-store.ts'
import { type Chosen, choose, type Registry } from './registry/registry.ts'
import { idOf, type Spec } from './spec.ts'

export interface InstallDeps {
  readonly store: PackageStore
  readonly folders: PackageFolders
  readonly registry: Pick<Registry, 'packument'>
  readonly npm: Npm
  readonly now: () => number
  readonly minAgeDays: number
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
  const chosen = choose(packument, spec, deps.node, { now: deps.now(), minAgeDays: deps.minAgeDays })
  const current = deps.store.all().find(({ name }) => name === spec.name)?.current
  const isComplete =
    current !== undefined &&
    existsSync(packageFolder(deps.folders.of({ id: idOf(spec.name) }, current.version), spec.name))
  if (isComplete && current.version === chosen.version && current.scripts_ran === allowScripts)
    return { chosen, installed: { ...current, requested: spec.requested }, staging: null }
  const staging = deps.folders.staging()
  try {
    phase('installing')
    writeFileSync(join(staging, 'package.json'), '{"private": true}\n', { mode: 0o600 })
    const what = { name: chosen.name, version: chosen.version, folder: staging, allowScripts }
    await npmInstall(deps.npm, what, { signal, onLine: line })
    phase('checking')
    const installed = await inspect(staging, chosen, { scriptsRan: allowScripts, now: deps.now() })
    signal.throwIfAborted()
    return { chosen, installed, staging }
  } catch (error) {
    await removeFolder(staging)
    throw explained(chosen.name, error)
  }
}

/** Makes the fetched version the one in use. The version before it is kept, older ones are deleted. */
export async function activate(
  { store, folders }: Pick<InstallDeps, 'store' | 'folders'>,
  { chosen, installed, staging }: Fetched,
  audit: Parameters<PackageStore['save']>[1],
): Promise<PackageRecord> {
  const { name, latest } = chosen
  const before = store.all().find((each) => each.name === name)
  const id = idOf(name)
  const isOther = before !== undefined && before.current.version !== installed.version
  const previous = isOther ? before.current : (before?.previous ?? null)
  const record = { id, name, latest, current: installed, previous }
  if (staging !== null) await folders.moveIntoPlace(staging, record, installed.version)
  await store.save(record, audit)
  folders.use(record, installed.version)
  const former = before?.previous?.version
  if (isOther && former !== undefined && former !== installed.version && former !== previous?.version)
    await folders.remove(record, former)
  return record
}

function explained(name: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new AppError('disk_full', `The disk is full, so '${name}' was not installed`, { cause: error })
  return error
}
