import { AppError } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import { redactText } from '../kernel/secrets/redact-text.ts'
import { createEvents, type Events } from '../observe/events/events.service.ts'
import { StatusRecorder } from '../observe/events/status-recorder.ts'
import { type Notices, noticeEvents } from '../observe/notices/notices.service.ts'

import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { auditEvents, saveStatusChanges, statusEvents } from '../store/events.store.ts'
import type { Closer } from './closer.ts'

interface Parts {
  readonly database: ConfigurationDatabase
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly log: Log
  readonly closer: Closer
  readonly notices: Notices
}

/** The history of changes, states and notices. Records the states of servers from now on. */
export function openEvents({ database, facts, secrets, log, closer, notices }: Parts): Events {
  const recorder = new StatusRecorder({
    facts,
    save: (changes) => saveStatusChanges(database, changes),
    redact: (text) => redactText(text, secrets),
    now: Date.now,
    onError: (error) => {
      // A full disk has a notice of its own.
      if (error instanceof AppError && error.code === 'disk_full') return
      log.error({ error }, 'states of servers could not be saved')
    },
  })
  closer.add('the record of states', () => recorder.close())
  const states = statusEvents(database)
  return createEvents({
    sources: {
      audit: auditEvents(database),
      server_status: { ...states, page: async (query) => recorder.flush().then(() => states.page(query)) },
      notice: noticeEvents(notices),
    },
    now: Date.now,
  })
}
