import { Guesses } from '../http/auth.ts'
import type { Log } from '../kernel/log.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'

/** Counts wrong tokens and keys, and leaves an audit row about an address that guesses. */
export function openGuesses(database: ConfigurationDatabase, log: Log): Guesses {
  return new Guesses((address) => {
    const detail = {
      address,
      note: 'more than 10 wrong tokens or gateway keys within a minute; answers are delayed',
    }
    const entry = { action: 'token_guessing', subject: address, request_id: null, detail }
    void database.audit(entry).catch((error: unknown) => log.error({ error }, 'audit failed'))
  })
}
