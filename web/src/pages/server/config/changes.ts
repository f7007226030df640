/** What a user may change of a server, with secrets masked. */
export type Definition = Readonly<Record<string, unknown>>

/** The fields that differ, as the API takes them. */
export function changesIn(before: Definition, after: Definition): Definition {
  return Object.fromEntries(
    Object.entries(after).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field])),
  )
}

/** The changes that are kept over a reload. */
export interface KeptDraft {
  readonly changes: Definition
  /** What was changed and is not kept, because it may be a secret. */
  readonly left: readonly string[]
}

/** A stored value, or a reference: neither shows a secret. */
const SAFE = /^(?:\*\*\*|(?:\$\{(?:env|secret):[^}]*\})+)?$/
/** A long run of letters and digits, or what a flag for a secret is called. Rather too much than too little. */
const SUSPICIOUS =
  /\?|:\/\/[^/]*@|(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{16}|key|token|secret|pass|auth|cred/i

/** What may be stored: everything but what a user may have typed as a secret. */
export function withoutSecrets(stored: Definition, changes: Definition): KeptDraft {
  const left: string[] = []
  const kept = Object.entries(changes).flatMap(([field, value]): [string, unknown][] => {
    if (field === 'env' || field === 'headers') {
      const before = (stored[field] ?? {}) as Readonly<Record<string, string>>
      const entries = Object.entries(value as Readonly<Record<string, string>>)
      left.push(...entries.flatMap(([name, text]) => (SAFE.test(text) ? [] : [name])))
      const safe = entries.flatMap(([name, text]): [string, string][] => {
        if (SAFE.test(text)) return [[name, text]]
        const old = before[name]
        return old === undefined ? [] : [[name, old]]
      })
      return [[field, Object.fromEntries(safe)]]
    }
    const isSafe =
      field === 'args'
        ? (value as readonly string[]).every((text) => SAFE.test(text) || !SUSPICIOUS.test(text))
        : field === 'url' || field === 'command'
          ? !SUSPICIOUS.test(String(value))
          : field !== 'oauth'
    if (isSafe) return [[field, value]]
    left.push(field)
    return []
  })
  return { changes: changesIn(stored, Object.fromEntries(kept)), left }
}
