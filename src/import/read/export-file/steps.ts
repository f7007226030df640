import { AppError } from '../../../kernel/errors.ts'
import type { Caller } from '../../../kernel/wire.ts'
import type { Imported } from './transfer.schema.ts'

/** What is done with one entry of the file. Without `apply`, nothing is. */
export interface Step<I extends Imported = Imported> {
  readonly item: I
  /** Returns the id of what was imported. */
  readonly apply?: (by: Caller) => Promise<string>
  readonly undo?: (id: string, by: Caller) => Promise<unknown>
}

/** An entry that cannot be imported does not prevent the others. A failure of the store undoes all of them. */
export async function applyAll<I extends Imported>(
  steps: readonly Step<I>[],
  undos: (() => Promise<unknown>)[],
  by: Caller,
): Promise<I[]> {
  const items: I[] = []
  for (const { item, apply, undo } of steps) {
    try {
      const id = await apply?.(by)
      if (id !== undefined && undo) undos.unshift(() => undo(id, by))
      items.push(id === undefined ? item : { ...item, id })
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      items.push({ ...item, outcome: 'refused', id: null, reason: error.message, notes: [] })
    }
  }
  return items
}
