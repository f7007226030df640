import { AppError } from '../kernel/errors.ts'
import { type Caller, slugOf } from '../kernel/rest-parts.ts'
import type { Carrier } from '../kernel/secrets/mask-secrets.ts'
import { hashOf } from '../servers/shared/compare-listed-definitions.ts'
import {
  type PlacedReference,
  referencesIn,
  secretNamesIn,
} from '../servers/shared/definition/definition-references.ts'
import { moveSecrets } from '../servers/shared/definition/move-secrets.ts'
import { npxPackage } from '../servers/shared/definition/npx-package.ts'
import { type AllowOutgoing, type Allows, allowsOf } from '../servers/shared/definition/outgoing.ts'
import type { ForAgents } from '../servers/shared/server-fields.ts'
import type { ImportOptions } from './import.schema.ts'
import type { Plan } from './import-plan.ts'
import { asContainer, type ServerKinds } from './stdio-and-http-servers.ts'
import type { Definition } from './translate/translate-definition-references.ts'

type Done = Partial<Pick<Plan, 'id' | 'notes'>>

/** Carries out a plan. An entry that cannot be imported does not prevent the others; a failure of the store does. */
export async function apply(plan: Plan, dryRun = false, change: () => Promise<Done>): Promise<Plan> {
  try {
    return await applyOrThrow(plan, dryRun, change)
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error
    return { outcome: 'refused', id: null, reason: error.message, notes: [] }
  }
}

/** Carries out a plan. Throws an AppError if it cannot. */
export async function applyOrThrow(plan: Plan, dryRun = false, change: () => Promise<Done>): Promise<Plan> {
  const isChange = plan.outcome === 'created' || plan.outcome === 'updated'
  return dryRun || !isChange ? plan : { ...plan, ...(await change()) }
}

type Undo = () => Promise<unknown>

/** Undoes what was done, the last change first, if a later one fails. */
export async function allOrNothing<T>(run: (undos: Undo[]) => Promise<T>): Promise<T> {
  const undos: Undo[] = []
  try {
    return await run(undos)
  } catch (error) {
    for (const undo of undos.reverse()) await undo().catch(() => {}) // the first failure is reported
    throw error
  }
}

/** What registering a server of a snippet or an agent needs. */
export interface RegisterDeps {
  readonly kinds: ServerKinds
  readonly namedSecrets: {
    /** The suggested name, or another one if it belongs to another value. `taken` are names of the same import. */
    nameFor(suggested: string, value: string, taken: ReadonlyMap<string, string>): string
    set(name: string, value: string, by: Caller): Promise<unknown>
  }
  /** Installs a package. Throws an AppError. */
  readonly install: (spec: string, by: Caller) => Promise<{ readonly name: string; readonly bin: string }>
}

interface Found {
  readonly name: string
  readonly definition: Definition
  /** False: it stays off until a user starts or enables it. */
  readonly enabled: boolean
  /** False: its agent has not been allowed to start it, so a server that gets this definition is off afterwards, too. */
  readonly approved?: boolean
}

/** Adds a server of a snippet or an agent, or gives its definition to the server with this id. Starts nothing. */
export async function register(
  { name, definition, enabled, approved = true }: Found,
  id: string | null,
  options: ImportOptions & { readonly agents?: ForAgents },
  deps: RegisterDeps,
  by: Caller,
): Promise<Done> {
  const { definition: applied, notes } = await withOptions(slugOf(name), definition, options, deps, by)
  const { kinds } = deps
  const allows = allowedAfter(definition, applied, options.allow_outgoing)
  if (id !== null) {
    // A definition without a working folder removes the stored one.
    const cwd = applied.type === 'stdio' && { cwd: null }
    if (!approved && applied.type === 'stdio') await kinds.stop(id, by)
    const off = !approved && applied.type === 'http' && { enabled: false }
    await kinds.change(applied.type, id, { ...cwd, ...applied, ...off }, by, allows)
    return { notes }
  }
  const { start_mode, agents } = options
  const seen = agents && { agents }
  if (applied.type === 'http') {
    const server = await kinds.add('http', { name, ...applied, enabled, ...seen }, by, allows)
    return { id: server.id, notes }
  }
  const fields = { name, ...applied, ...asContainer(applied), ...(start_mode && { start_mode }), ...seen }
  const server = await kinds.add('stdio', fields, by, allows)
  if (!enabled) await kinds.stop(server.id, by) // as a person would stop it
  return { id: server.id, notes }
}

/**
 * What a person has allowed of the definition that was shown, in the one that is registered: `pin` moves arguments. A value
 * that `move_secrets` took out of the definition stood in it, so it goes where it went before.
 */
function allowedAfter(shown: Definition, applied: Definition, items: AllowOutgoing = []): Allows {
  const named = allowsOf(shown, items)
  const places = referencesIn(shown)
  const isArg = ({ path }: PlacedReference) => path.startsWith('/args/')
  const isLike = (one: PlacedReference, other: PlacedReference) =>
    hashOf({ ...one.reference }) === hashOf({ ...other.reference }) &&
    (one.path === other.path || (applied !== shown && isArg(one) && isArg(other)))
  return (placed) => {
    const before = places.filter((each) => isLike(each, placed))
    return before.length === 0 ? placed.reference.kind === 'secret' : before.every(named)
  }
}

/** A definition with `pin` and `move_secrets` applied, and what was done. */
interface Applied {
  readonly definition: Definition
  readonly notes: readonly string[]
}

async function withOptions(
  server: string,
  definition: Definition,
  { pin = false, move_secrets = false }: ImportOptions,
  deps: RegisterDeps,
  by: Caller,
): Promise<Applied> {
  const pinned = pin ? await withPackage(definition, deps, by) : { definition, notes: [] }
  if (!move_secrets) return pinned
  const moved = await withNamedSecrets(server, pinned.definition, deps, by)
  return { definition: moved.definition, notes: [...pinned.notes, ...moved.notes] }
}

async function withPackage(definition: Definition, { install }: RegisterDeps, by: Caller): Promise<Applied> {
  const found = npxPackage(definition as Carrier)
  if (!found || definition.type === 'http') return { definition, notes: [] }
  try {
    const { name, bin } = await install(found.spec, by)
    const notes = [`It runs the installed package ${name}, which is updated only on request`]
    return { definition: { ...definition, package: name, command: bin, args: [...found.args] }, notes }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { definition, notes: [`${found.spec} could not be installed, so npx runs it: ${error.message}`] }
  }
}

async function withNamedSecrets(
  server: string,
  definition: Definition,
  { namedSecrets }: RegisterDeps,
  by: Caller,
): Promise<Applied> {
  const values = new Map<string, string>()
  const moved = moveSecrets(definition, server, ({ name, value }) => {
    const chosen = namedSecrets.nameFor(name, value, values)
    values.set(chosen, value)
    return chosen
  })
  const used = secretNamesIn(moved).filter((name) => values.has(name))
  for (const name of used) await namedSecrets.set(name, values.get(name) ?? '', by)
  const notes = used.map((name) => `A plain secret was copied to the named secret ${name}`)
  return { definition: moved, notes }
}
