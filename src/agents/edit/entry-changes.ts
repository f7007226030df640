import { isSame } from '../catalogue/json-value.ts'
import type { EntryChange } from '../files/file-backups.ts'
import type { FileRecord } from '../files/ownership-store.ts'
import type { Entry } from '../read/read-entries.ts'
import type { Plan } from './entry-plan.ts'

/** The entries of a file, and those that Toolroom keeps. */
interface Side {
  readonly entries: readonly Entry[]
  readonly owned?: FileRecord['entries']
}

type Planned = Pick<Plan, 'added' | 'updated' | 'removed'> & Partial<Pick<Plan, 'takenNow' | 'restored'>>

/** What a change does to each entry that it names. */
export function entryChanges(before: Side, after: Side, plan: Planned): EntryChange[] {
  const { added, updated, removed, takenNow = [], restored = [] } = plan
  const names = new Set([added, updated, removed, takenNow, restored].flat())
  const isParked = ({ owned = {} }: Side, name: string) => (owned[name]?.parked ?? null) !== null
  const whatOf = (name: string): EntryChange['what'] => {
    if (takenNow.includes(name)) return 'taken_over'
    if (restored.includes(name)) return 'brought_back'
    const [was, is] = [before, after].map(({ entries }) => entries.find((entry) => entry.name === name))
    if (!is) return isParked(after, name) ? 'switched_off' : 'removed'
    if (!was) return isParked(before, name) ? 'switched_on' : 'added'
    const [wasOff, isOff] = [was.enabled === false, is.enabled === false]
    // An agent that lists disabled servers in another file has the same entry.
    if (wasOff === isOff && !isSame(was.value, is.value)) return 'changed'
    return wasOff ? 'switched_on' : 'switched_off'
  }
  return [...names].map((name) => ({ name, what: whatOf(name) }))
}
