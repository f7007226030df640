import { useEffect, useState } from 'react'
import { readDraft, writeDraft } from '../../../data/browser/drafts.ts'
import { type Definition, type KeptDraft, withoutSecrets } from './changes.ts'

const NOTHING: KeptDraft = { changes: {}, left: [] }

/** The changes of a definition. They survive a reload, but for values that may be secrets. */
export function useDraft(id: string, stored: Definition) {
  const name = `config.${id}`
  const [first] = useState(() => readDraft<KeptDraft>(name) ?? NOTHING)
  const [changes, setChanges] = useState<Definition>(first.changes)
  const [left, setLeft] = useState(first.left)
  useEffect(() => {
    const kept = withoutSecrets(stored, changes)
    const isEmpty = Object.keys(kept.changes).length + kept.left.length === 0
    writeDraft(name, isEmpty ? undefined : kept)
  }, [name, stored, changes])
  return {
    changes,
    setChanges,
    /** What the reload took. */
    left,
    /** The user has seen it. */
    forget: () => setLeft([]),
    clear: () => {
      setChanges({})
      setLeft([])
      writeDraft(name, undefined)
    },
  }
}
