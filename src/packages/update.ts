import { AppError } from '../kernel/errors.ts'
import type { JobHandle } from '../kernel/jobs.ts'
import type { Caller } from '../kernel/wire.ts'
import { remove } from './folders.ts'
import { adopt, type Fetched, fetchPackage, type InstallDeps } from './install.ts'
import type { PackageRecord } from './package-store.ts'
import { chooseBin, programAt } from './program.ts'
import type { Spec } from './spec.ts'

/** A registered server that runs from a package, as far as this room needs to know it. */
export interface UsingServer {
  readonly id: string
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
}

export interface SeenTool {
  readonly name: string
  readonly hash: string
}

/** Starts it apart from everything, asks for its tools, and ends it. Throws an AppError that says why it did not start. */
export type Trial = (definition: {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
}) => Promise<readonly SeenTool[]>

export interface UpdateDeps extends InstallDeps {
  readonly using: (name: string) => Promise<readonly UsingServer[]>
  readonly trial: Trial
  /** What runs from it is started anew, with the other version. */
  readonly switched: (name: string) => Promise<void>
}

export interface ToolDifference {
  readonly added: string[]
  readonly removed: string[]
  readonly changed: string[]
}

const MOST_TRIALS = 3

/** The new version is fetched and started beside the old one, and takes its place only when it works. */
export async function updatePackage(
  deps: UpdateDeps,
  record: PackageRecord,
  spec: Spec,
  handle: JobHandle,
  by: Caller,
) {
  const fetched = await fetchPackage(deps, spec, record.current.scripts_ran, handle)
  const from = record.current.version
  if (fetched.staging === null)
    return { record: await adopt(deps, fetched, null), fetched, from, tools: NOTHING, tried: [] }
  try {
    handle.phase('trying')
    const { tools, tried } = await tryOut(deps, record, fetched)
    handle.signal.throwIfAborted()
    handle.phase('switching')
    const detail = { name: record.name, from, to: fetched.installed.version, tools }
    const audit = { action: 'package_updated', subject: record.id, ...by, detail }
    const updated = await adopt(deps, fetched, audit)
    await deps.switched(record.name)
    return { record: updated, fetched, from, tools, tried }
  } catch (error) {
    await remove(fetched.staging)
    throw error
  }
}

const NOTHING: ToolDifference = { added: [], removed: [], changed: [] }

/** With the settings of those who use it: a server that wants an argument does not start without. */
async function tryOut(
  { using, trial, folders }: UpdateDeps,
  record: PackageRecord,
  { installed, staging }: Fetched,
) {
  const servers = (await using(record.name)).slice(0, MOST_TRIALS)
  const next = { ...record, current: installed }
  const differences: ToolDifference = { added: [], removed: [], changed: [] }
  for (const { id, program, args, env, cwd } of servers) {
    const at = (folder: string, of: PackageRecord) => {
      const bin = chooseBin(of, Object.hasOwn(of.current.bin, program) ? program : undefined)
      const { command, args: own } = programAt(folder, of.name, of.current, bin)
      return { command, args: [...own, ...args], env, cwd }
    }
    const now = await trial(at(staging ?? '', next)).catch((error: unknown) => {
      throw doesNotStart(record, installed.version, id, error)
    })
    const before = await trial(at(folders.of(record, record.current.version), record)).catch(() => [])
    add(differences, before, now)
  }
  return { tools: differences, tried: servers.map(({ id }) => id) }
}

function add(all: ToolDifference, before: readonly SeenTool[], now: readonly SeenTool[]): void {
  const missing = (from: readonly SeenTool[], name: string) => !from.some((tool) => tool.name === name)
  const put = (list: string[], names: string[]) => list.push(...names.filter((name) => !list.includes(name)))
  put(
    all.added,
    now.filter(({ name }) => missing(before, name)).map(({ name }) => name),
  )
  put(
    all.removed,
    before.filter(({ name }) => missing(now, name)).map(({ name }) => name),
  )
  const differs = ({ name, hash }: SeenTool) =>
    before.some((tool) => tool.name === name && tool.hash !== hash)
  put(
    all.changed,
    now.filter(differs).map(({ name }) => name),
  )
}

function doesNotStart(
  { name, current }: PackageRecord,
  version: string,
  server: string,
  error: unknown,
): AppError {
  const why = error instanceof Error ? error.message : String(error)
  return new AppError(
    'update_failed',
    `'${name}' ${version} does not start with the settings of '${server}', so ${current.version} stays: ${why}`,
    { cause: error, ...(error instanceof AppError && error.hint ? { hint: error.hint } : {}) },
  )
}
