import { AppError } from '../../kernel/errors.ts'
import type { Carrier } from '../../kernel/secrets/secrets.ts'
import type { Caller } from '../../kernel/wire.ts'
import { moveSecrets } from '../../servers/shared/definition/move-secrets.ts'
import { npxPackage } from '../../servers/shared/definition/npx-package.ts'
import { secretNamesIn } from '../../servers/shared/definition/references.ts'
import type { ImportOptions } from './import-fields.ts'

/** What the options of an import need. `secrets/` and `packages/` provide it. */
export interface OptionDeps {
  /** A setting of Toolroom, to which no server may refer. */
  readonly isOwnSetting: (name: string) => boolean
  readonly namedSecrets: {
    /** The suggested name, or another one if it belongs to another value. `taken` are names of the same import. */
    nameFor(suggested: string, value: string, taken: ReadonlyMap<string, string>): string
    set(name: string, value: string, by: Caller): Promise<unknown>
  }
  /** Installs a package. Throws an AppError. */
  readonly install: (spec: string, by: Caller) => Promise<{ readonly name: string; readonly bin: string }>
}

/** A definition with `pin` and `move_secrets` applied, and what was done. */
interface Applied<T> {
  readonly definition: T & { readonly package?: string }
  readonly notes: readonly string[]
}

export async function applyOptions<T extends Carrier>(
  name: string,
  definition: T,
  { pin = false, move_secrets = false }: ImportOptions,
  deps: OptionDeps,
  by: Caller,
): Promise<Applied<T>> {
  const pinned = pin ? await withPackage(definition, deps, by) : { definition, notes: [] }
  const moved = move_secrets ? await withNamedSecrets(name, pinned.definition, deps, by) : undefined
  return moved ? { definition: moved.definition, notes: [...pinned.notes, ...moved.notes] } : pinned
}

async function withPackage<T extends Carrier>(
  definition: T,
  deps: OptionDeps,
  by: Caller,
): Promise<Applied<T>> {
  const found = npxPackage(definition)
  if (!found) return { definition, notes: [] }
  try {
    const { name, bin } = await deps.install(found.spec, by)
    const notes = [`It runs the installed package ${name}, which is updated only on request`]
    return { definition: { ...definition, package: name, command: bin, args: found.args }, notes }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { definition, notes: [`${found.spec} could not be installed, so npx runs it: ${error.message}`] }
  }
}

async function withNamedSecrets<T extends Carrier>(
  server: string,
  definition: T,
  { namedSecrets }: OptionDeps,
  by: Caller,
): Promise<Applied<T>> {
  const values = new Map<string, string>()
  const moved = moveSecrets(definition, server, ({ name, value }) => {
    const chosen = namedSecrets.nameFor(name, value, values)
    values.set(chosen, value)
    return chosen
  })
  const used = secretNamesIn(moved).filter((name) => values.has(name))
  for (const name of used) await namedSecrets.set(name, values.get(name) ?? '', by)
  const notes = used.map((name) => `A plain secret was moved to the named secret ${name}`)
  return { definition: moved, notes }
}
