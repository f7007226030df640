/** What becomes of one server, secret or choice that a reader has found. */
export interface Plan {
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'exists' | 'refused'
  /** The id of what is registered, or of what was created. */
  readonly id: string | null
  /** Why nothing is changed. */
  readonly reason: string | null
  /** What was done, and what is left to do. */
  readonly notes: readonly string[]
}

/** What is registered under the name of a candidate, or is the same server. */
export interface Existing {
  readonly id: string | null
  readonly isSame: boolean
  /** It stays as it is, also with `update`: a server of the other kind. */
  readonly isFixed?: boolean
  /** Why it cannot be updated. */
  readonly problem?: string | undefined
}

/** Why something stays as it is: it is the same, or another one. */
export interface Reasons {
  readonly same: string | null
  readonly other: string
}

const SERVER: Reasons = {
  same: 'The server already has this definition',
  other: 'A server with this name is already registered with a different definition',
}

/** The decision of every import. It changes nothing. `problem`: why it cannot be registered at all. */
export function plan(
  { problem, existing }: { readonly problem?: string | undefined; readonly existing?: Existing | undefined },
  update: boolean,
  reasons = SERVER,
): Plan {
  const decided = (outcome: Plan['outcome'], reason: string | null = null): Plan => ({
    outcome,
    id: existing?.id ?? null,
    reason,
    notes: [],
  })
  if (problem !== undefined) return { ...decided('refused', problem), id: null }
  if (!existing) return decided('created')
  if (existing.isSame) return decided('unchanged', reasons.same)
  if (!update || existing.isFixed) return decided('exists', reasons.other)
  return existing.problem === undefined ? decided('updated') : decided('refused', existing.problem)
}
