import type { Session } from '../sessions/sessions.ts'

/** Somebody who hears what servers say unasked: a session, or a request of the modern era that lasts. */
export interface Hearer {
  /** The server it is about; undefined for all. */
  readonly serverId: string | undefined
  readonly agentType: string
  readonly tell: (method: string, params: object) => void
}

/** What is asked of a server because of what agents want to hear, and not by one of them. */
export interface Upstream {
  /** Rejects as the server refuses. Wakes it. */
  readonly ask: (serverId: string, method: string, params: object) => Promise<unknown>
  /** Whether it can be told something without being woken for it. */
  readonly isAwake: (serverId: string) => boolean
}

/** Who asks, as far as it matters for what is heard. */
export interface Questioner extends Hearer {
  readonly era: 'legacy' | 'modern'
  /** Where it hears what comes after the answer; undefined where nothing can come. */
  readonly session: Session | undefined
}
