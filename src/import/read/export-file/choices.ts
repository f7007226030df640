import { AppError } from '../../../kernel/errors.ts'
import type { Caller } from '../../../kernel/wire.ts'
import { hashOf } from '../../../servers/shared/definition/definition-hash.ts'
import type { Imported } from './transfer.schema.ts'

/** A choice of servers and tools: what an agent sees, or a preset. Omitted: all of them. */
export interface Choice {
  readonly servers?: readonly string[] | null
  /** Null: all tools of the server. */
  readonly tools?: Readonly<Record<string, readonly string[] | null>>
}

export interface ChoiceDeps {
  /** Why this is not a choice, or undefined. */
  problem(choice: unknown): string | undefined
  /** Undefined when nothing was chosen. */
  current(name: string): Choice | undefined
  /** Throws when there is no such agent, or when the name cannot be used. */
  change(name: string, choice: Choice, by: Caller): Promise<unknown>
}

interface Options {
  /** The ids of the file, and those of the same servers here. Undefined for a server that was not imported. */
  readonly idOf: (id: string) => string | undefined
  readonly update: boolean
  readonly dryRun: boolean
}

/** Applies a choice of the file. */
export async function importChoice(
  name: string,
  choice: Choice,
  deps: ChoiceDeps,
  { idOf, update, dryRun }: Options,
  by: Caller,
): Promise<Pick<Imported, 'outcome' | 'reason'>> {
  const wanted = withIds(choice, idOf)
  const current = deps.current(name)
  if (current && hashOf({ ...current }) === hashOf({ ...wanted }))
    return { outcome: 'unchanged', reason: null }
  if (current && !update) return { outcome: 'exists', reason: 'Another choice has been made here already' }
  try {
    if (!dryRun) await deps.change(name, wanted, by)
    return { outcome: current ? 'updated' : 'created', reason: null }
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error
    return { outcome: 'refused', reason: error.message }
  }
}

/** Servers that were not imported are left out, so that an agent never sees more than before. */
function withIds({ servers = null, tools = {}, ...rest }: Choice, idOf: Options['idOf']): Choice {
  const lists = Object.entries(tools).flatMap(([id, names]) => {
    const here = idOf(id)
    return here === undefined || names === null ? [] : [[here, names] as const]
  })
  return {
    ...rest,
    servers: servers === null ? null : servers.flatMap((id) => idOf(id) ?? []),
    tools: Object.fromEntries(lists),
  }
}
