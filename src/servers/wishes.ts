import type { AuditEntry } from '../kernel/facts.ts'
import type { DesiredState } from './live.schema.ts'

/** What persons last asked for, kept between two starts of Toolroom. */
export interface WishStore {
  /** Undefined until somebody asked. */
  desired(id: string): DesiredState | undefined
  /** Undefined: as if nobody had ever asked. A wish to stop is let through on a full disk. */
  setDesired(id: string, state: DesiredState | undefined, audit: AuditEntry | null): Promise<void>
  /** The server is gone, and its row with it. */
  forget(id: string): void
}
