import { AppError } from '../../kernel/errors.ts'
import type { Isolation } from '../../kernel/isolation-options.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { JobHandle } from '../jobs/jobs.ts'
import { activate, type Fetched, fetchPackage, type InstallDeps, undoneEntry } from './install-package.ts'
import { removeFolder } from './package-folders.ts'
import { chooseBin, programAt } from './package-program.ts'
import type { PackageRecord } from './package-record.ts'
import type { Spec } from './package-spec.ts'

/** A registered server that runs from a package. */
export interface PackageServer {
  readonly id: string
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly confinement: Isolation
  /** It is not started: a person has not allowed what it would get. */
  readonly isOff: boolean
}

interface TrialTool {
  readonly name: string
  readonly hash: string
}

/** Starts a server separately, lists its tools, and stops it. Throws an AppError with the reason when it does not start. */
type Trial = (definition: {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly confinement: Isolation
}) => Promise<readonly TrialTool[]>

export interface UpdateDeps extends InstallDeps {
  /** The registered servers that run from a package. */
  readonly serversOf: (name: string) => Promise<readonly PackageServer[]>
  readonly trial: Trial
  /** Restarts the servers of a package after its files have changed. */
  readonly restartServers: (name: string) => Promise<void>
}

interface ToolDifference {
  readonly added: string[]
  readonly removed: string[]
  readonly changed: string[]
}

const MAX_TRIALS = 3

/** A new version that works, beside the old one. */
export interface PreparedUpdate {
  readonly record: PackageRecord
  readonly fetched: Fetched
  readonly tools: ToolDifference
  /** The servers whose settings were used for the trial. */
  readonly tried: readonly string[]
}

/** Installs the new version beside the old one and starts it on trial. Nothing is left of it if it does not work. */
export async function prepareUpdate(
  deps: UpdateDeps,
  record: PackageRecord,
  spec: Spec,
  handle: JobHandle,
): Promise<PreparedUpdate> {
  const fetched = await fetchPackage(deps, spec, record.current.scripts_ran, handle)
  if (fetched.staging === null) return { record, fetched, tools: UNCHANGED, tried: [] }
  try {
    handle.phase('trying', { version: fetched.installed.version })
    const { tools, tried } = await tryOut(deps, record, fetched)
    handle.signal.throwIfAborted()
    return { record, fetched, tools, tried }
  } catch (error) {
    await removeFolder(fetched.staging)
    throw error
  }
}

/** Replaces the old version, unless the package has changed since the update was prepared. */
export async function switchVersion(
  deps: UpdateDeps,
  { record, fetched, tools }: PreparedUpdate,
  handle: JobHandle,
  by: Caller,
): Promise<PackageRecord> {
  const from = record.current.version
  const undone = undoneEntry(record.id, by, { name: record.name, version: fetched.installed.version })
  const finish = async (saved: PackageRecord) => saved
  if (fetched.staging === null) return activate(deps, fetched, { audit: null, undone, finish })
  try {
    handle.signal.throwIfAborted()
    const now = deps.store.all().find(({ name }) => name === record.name)
    const { version, installed_at } = now?.current ?? {}
    if (version !== from || installed_at !== record.current.installed_at) throw changedMeanwhile(record)
    handle.phase('switching')
    const detail = { name: record.name, from, to: fetched.installed.version, tools }
    const audit = { action: 'package_updated', subject: record.id, ...by, detail }
    const updated = await activate(deps, fetched, { audit, undone, finish })
    await deps.restartServers(record.name)
    return updated
  } catch (error) {
    await removeFolder(fetched.staging)
    throw error
  }
}

const UNCHANGED: ToolDifference = { added: [], removed: [], changed: [] }

/** With the settings of the servers that run from it: one that needs an argument does not start without it. */
async function tryOut(
  { serversOf, trial, folders }: UpdateDeps,
  record: PackageRecord,
  { installed, staging }: Fetched,
) {
  const servers = (await serversOf(record.name)).filter(({ isOff }) => !isOff).slice(0, MAX_TRIALS)
  const next = { ...record, current: installed }
  const differences: ToolDifference = { added: [], removed: [], changed: [] }
  for (const { id, program, args, env, cwd, confinement } of servers) {
    const definition = (folder: string, version: PackageRecord) => {
      const bin = chooseBin(version, Object.hasOwn(version.current.bin, program) ? program : undefined)
      const { command, args: own } = programAt(folder, version.name, version.current, bin)
      return { command, args: [...own, ...args], env, cwd, confinement }
    }
    const now = await trial(definition(staging ?? '', next)).catch((error: unknown) => {
      throw trialFailed(record, installed.version, id, error)
    })
    const folder = folders.of(record, record.current.version)
    const before = await trial(definition(folder, record)).catch(() => []) // the old version may be broken
    addDifference(differences, before, now)
  }
  return { tools: differences, tried: servers.map(({ id }) => id) }
}

function addDifference(all: ToolDifference, before: readonly TrialTool[], now: readonly TrialTool[]): void {
  const missing = (from: readonly TrialTool[], name: string) => !from.some((tool) => tool.name === name)
  const put = (list: string[], tools: readonly TrialTool[]) =>
    list.push(...tools.map(({ name }) => name).filter((name) => !list.includes(name)))
  const differs = ({ name, hash }: TrialTool) =>
    before.some((tool) => tool.name === name && tool.hash !== hash)
  put(
    all.added,
    now.filter(({ name }) => missing(before, name)),
  )
  put(
    all.removed,
    before.filter(({ name }) => missing(now, name)),
  )
  put(all.changed, now.filter(differs))
}

const changedMeanwhile = ({ name }: PackageRecord): AppError =>
  new AppError(
    'update_failed',
    `'${name}' was changed or uninstalled while its update waited, so nothing was updated`,
    { hint: 'Start the update again' },
  )

function trialFailed(
  { name, current }: PackageRecord,
  version: string,
  server: string,
  error: unknown,
): AppError {
  const why = error instanceof Error ? error.message : String(error)
  return new AppError(
    'update_failed',
    `'${name}' ${version} does not start with the settings from '${server}', so ${current.version} stays in use: ${why}`,
    { cause: error, ...(error instanceof AppError && error.hint ? { hint: error.hint } : {}) },
  )
}
