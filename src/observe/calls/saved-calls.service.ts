import { AppError, invalidField } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { type Caller, idIn } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { SavedCall, SavedCallInput } from './saved-calls.schema.ts'

export interface SavedCallRecord extends Omit<SavedCall, 'created_at' | 'updated_at'> {
  readonly created_at: number
  readonly updated_at: number
}

/** `store/` provides it. */
export interface SavedCallStore {
  all(): SavedCallRecord[]
  get(id: string): SavedCallRecord | undefined
  put(record: SavedCallRecord, audit: AuditEntry): Promise<void>
  /** False when it did not exist. */
  remove(id: string, audit: AuditEntry): Promise<boolean>
}

interface Deps {
  readonly store: SavedCallStore
  readonly now: () => number
}

const MAX_SAVED = 500
const MAX_BYTES = 64 * 1024

export function createSavedCalls({ store, now }: Deps) {
  function get(id: string): SavedCall {
    const record = store.get(id)
    if (!record) throw notFound(id)
    return viewOf(record)
  }

  return {
    list: (): SavedCall[] =>
      store
        .all()
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .map(viewOf),
    get,

    /** Creates the saved call, or replaces it. */
    async put(id: string, input: SavedCallInput, by: Caller): Promise<{ saved: SavedCall; isNew: boolean }> {
      if (idIn(id) === null)
        throw invalidField('/id', 'must consist of small letters, digits, dots, dashes and underscores')
      const { name, server_id, tool, arguments: args = {} } = input
      if (Buffer.byteLength(JSON.stringify(args)) > MAX_BYTES)
        throw invalidField('/arguments', 'must not be larger than 64 KiB')
      const before = store.get(id)
      if (!before && store.all().length >= MAX_SAVED)
        throw new AppError('limit_reached', `The limit of ${MAX_SAVED} saved calls is reached`, {
          hint: 'Delete a saved call first',
        })
      const created_at = before?.created_at ?? now()
      const record = { id, name, server_id, tool, arguments: args, created_at, updated_at: now() }
      const action = before ? 'saved_call_updated' : 'saved_call_added'
      await store.put(record, { action, subject: id, ...by, detail: { name, server_id, tool } })
      return { saved: get(id), isNew: !before }
    },

    async remove(id: string, by: Caller): Promise<void> {
      const { name, server_id, tool } = get(id)
      const detail = { name, server_id, tool }
      if (!(await store.remove(id, { action: 'saved_call_removed', subject: id, ...by, detail })))
        throw notFound(id)
    },
  }
}
export type SavedCalls = ReturnType<typeof createSavedCalls>

const viewOf = (record: SavedCallRecord): SavedCall => ({
  ...record,
  created_at: isoTime(record.created_at),
  updated_at: isoTime(record.updated_at),
})

const notFound = (id: string): AppError =>
  new AppError('not_found', `No saved call has the id '${id.slice(0, 100)}'`)
