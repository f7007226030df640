import type { RepairAction } from '../../kernel/repair-action.ts'
import type { LastError } from '../../kernel/server-state.ts'

/** Whether servers can run in a place of this computer, and what has to be done if they cannot. */
export interface Ability<By extends string> {
  readonly available: boolean
  /** The program that provides the isolation. Null if there is none. */
  readonly by: By | null
  readonly version: string | null
  readonly problem: string | null
  readonly remedy: string | null
}

/** Why servers cannot run in a place. `clause` follows "The server was not started: ". */
export interface Obstacle {
  readonly clause: string
  readonly remedy: string
}

export const unable = <By extends string>(by: By | null, { clause, remedy }: Obstacle): Ability<By> => ({
  available: false,
  by,
  version: null,
  problem: sentenceOf(clause),
  remedy,
})

export const able = <By extends string>(by: By, version: string | null): Ability<By> => ({
  available: true,
  by,
  version,
  problem: null,
  remedy: null,
})

export const notStarted = (
  code: string,
  { clause, remedy }: Obstacle,
  action: RepairAction = { kind: 'change_isolation' },
): LastError => ({ code, message: `The server was not started: ${clause}`, hint: remedy, action })

/** The clause as a sentence of its own. */
export const sentenceOf = (clause: string): string => clause.charAt(0).toUpperCase() + clause.slice(1)
