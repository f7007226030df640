import { AppError } from '../kernel/errors.ts'
import type { Caller } from '../kernel/wire.ts'
import type { ImportInput, ImportItem, ImportReport } from './import.schema.ts'
import { parseSnippet, readSnippet, type Snippet, type SnippetEntry } from './snippet/snippet.ts'

type Definition = SnippetEntry['definition']

/** One kind of server as the importer sees it. */
interface Target<D extends Definition> {
  /** Why the definition cannot be registered; undefined when it can. */
  problem(name: string, definition: D): string | undefined
  /** `same` tells whether the definition is what is registered already. */
  find(name: string): Promise<{ readonly id: string; readonly same: (definition: D) => boolean } | undefined>
  add(name: string, definition: D, by: Caller): Promise<{ readonly id: string }>
  change(id: string, definition: D, by: Caller): Promise<{ readonly id: string }>
}

export interface Deps {
  readonly stdio: Target<Extract<Definition, { type: 'stdio' }>>
  readonly http: Target<Extract<Definition, { type: 'http' }>>
}

/** Registers what people paste. Never starts anything, and never overwrites a server unless asked to. */
export function createImporter(deps: Deps) {
  async function place(entry: SnippetEntry, input: ImportInput, by: Caller): Promise<ImportItem> {
    const { name, definition, notes } = entry
    const target = deps[definition.type] as Target<Definition>
    const other = deps[definition.type === 'stdio' ? 'http' : 'stdio'] as Target<Definition>
    const item = (
      outcome: ImportItem['outcome'],
      id: string | null,
      reason: string | null = null,
    ): ImportItem => {
      return { name, type: definition.type, outcome, id, reason, notes: [...notes] }
    }
    const problem = target.problem(name, definition)
    if (problem !== undefined) return item('refused', null, problem)
    const existing = await target.find(name)
    if (existing?.same(definition)) return item('unchanged', existing.id, 'It is registered already')
    if (existing && input.on_conflict === 'update') {
      if (!input.dry_run) await target.change(existing.id, definition, by)
      return item('updated', existing.id)
    }
    const inTheWay = existing ?? (await other.find(name))
    if (inTheWay)
      return item('exists', inTheWay.id, 'A server with this name is registered with another definition')
    return item('created', input.dry_run ? null : (await target.add(name, definition, by)).id)
  }

  return {
    async run(input: ImportInput, by: Caller): Promise<ImportReport> {
      const { entries, refused } = snippetOf(input)
      const items: ImportItem[] = []
      for (const entry of entries) {
        items.push(await place(entry, input, by).catch((error: unknown) => refusedItem(entry, error)))
      }
      for (const { name, reason } of refused) {
        items.push({ name, type: null, outcome: 'refused', id: null, reason, notes: [] })
      }
      return { dry_run: input.dry_run ?? false, items, total: items.length }
    },
  }
}
export type Importer = ReturnType<typeof createImporter>

function snippetOf({ snippet, mcpServers, servers }: ImportInput): Snippet {
  const given = [snippet, mcpServers, servers].filter((part) => part !== undefined)
  if (given.length !== 1) {
    throw new AppError('invalid_input', 'Send exactly one of snippet, mcpServers and servers', {
      errors: [{ path: '', message: 'must hold exactly one of snippet, mcpServers and servers' }],
    })
  }
  return snippet === undefined ? readSnippet({ mcpServers: mcpServers ?? servers }) : parseSnippet(snippet)
}

/** One entry that cannot be registered must not keep the others out; a broken store must. */
function refusedItem({ name, definition, notes }: SnippetEntry, error: unknown): ImportItem {
  if (!(error instanceof AppError) || error.status >= 500) throw error
  return {
    name,
    type: definition.type,
    outcome: 'refused',
    id: null,
    reason: error.message,
    notes: [...notes],
  }
}
