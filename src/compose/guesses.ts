import { Guesses } from '../http/auth.ts'
import type { AuditEntry } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'

/** Counts wrong tokens, gateway keys and login codes, and audits an address that keeps sending them. */
export function openGuesses(audit: (entry: AuditEntry) => Promise<void>, log: Log): Guesses {
  const note = 'more than 10 wrong tokens, gateway keys or login codes within a minute; answers are delayed'
  return new Guesses((address) => {
    const entry = { action: 'token_guessing', subject: address, request_id: null, detail: { address, note } }
    void audit(entry).catch((error: unknown) => log.error({ error }, 'audit failed'))
  })
}
