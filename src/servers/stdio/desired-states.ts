import type { AuditEntry } from '../../kernel/facts.ts'
import type { DesiredState } from './live.schema.ts'

/** The states that users last requested. They survive a restart of Toolroom. */
export interface DesiredStates {
  /** Undefined until a user has requested one. */
  desired(id: string): DesiredState | undefined
  /** Undefined resets the state. The request to stop is saved even when the disk is full. */
  setDesired(id: string, state: DesiredState | undefined, audit: AuditEntry | null): Promise<void>
  /** Called after the server and its row have been deleted. */
  forget(id: string): void
}
