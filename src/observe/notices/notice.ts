import type { Kind, Level } from './notices.schema.ts'

/** Why a person is needed. */
export interface Cause {
  readonly kind: Kind
  /** Distinguishes causes of one kind: the id of a server, the path of a file, the name of a package. */
  readonly subject: string
  readonly server_id: string | null
  readonly agent_type: string | null
  /** What happened, and what to do. Readable without a token. */
  readonly text: string
  /** The decisive fact. It may quote what a server wrote. */
  readonly evidence: string | null
  readonly action: { readonly label: string; readonly route: string }
}

/** A cause with its history. Times are in ms since 1970. */
export interface Notice extends Cause {
  readonly id: number
  readonly at: number
  readonly count: number
  readonly seen_at: number | null
  readonly resolved_at: number | null
}

interface Rule {
  readonly level: Level
  /** `/api/health` is degraded while the cause exists. */
  readonly degrades?: true
  /** It is about an event, so that only a person can end it, by having seen it. */
  readonly untilSeen?: true
}

export const RULES: Readonly<Record<Kind, Rule>> = {
  server_crashed: { level: 'error', degrades: true },
  server_failed: { level: 'error', degrades: true },
  server_degraded: { level: 'warn' },
  login_needed: { level: 'warn', degrades: true },
  tools_changed: { level: 'warn', untilSeen: true },
  tools_held: { level: 'warn' },
  agent_file_edited: { level: 'warn' },
  agent_file_unreadable: { level: 'warn' },
  package_update: { level: 'info' },
  package_deprecated: { level: 'warn' },
  leaked_processes: { level: 'warn' },
  disk: { level: 'error' }, // the checks of `/api/health` report it
  weak_token: { level: 'warn', degrades: true },
  settings: { level: 'warn', degrades: true },
}

export const keyOf = ({ kind, subject }: Pick<Cause, 'kind' | 'subject'>): string => `${kind} ${subject}`
