import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import { redactText } from '../kernel/secrets/redact-text.ts'
import type { Vault } from '../kernel/secrets/vault.ts'
import { CallPayloads, type PayloadMode } from '../observe/calls/call-payloads.ts'
import type { CallStore } from '../observe/calls/call-store.ts'
import { createCalls } from '../observe/calls/calls.service.ts'
import { CallHistory, logCalls } from '../observe/calls/completed-calls.ts'
import { createSavedCalls } from '../observe/calls/saved-calls.service.ts'
import { createCallRecorder } from '../servers/shared/calls.ts'
import type { Upstreams } from '../servers/shared/upstreams.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { openSavedCalls } from '../store/saved-calls.store.ts'
import type { Closer } from './closer.ts'

interface Deps {
  readonly store: CallStore
  readonly mode: PayloadMode
  readonly database: ConfigurationDatabase
  readonly vault: Vault
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly upstreams: Upstreams
  readonly log: Log
  readonly closer: Closer
}

/** Records calls, and connects their history, payloads and saved calls. */
export async function openCalls(deps: Deps) {
  const { store, mode, database, vault, facts, secrets, upstreams, log, closer } = deps
  const now = Date.now
  logCalls(facts, log)
  const onLost = (error: unknown) => log.warn({ error }, 'calls could not be stored')
  const history = new CallHistory({ store, facts, onLost })
  closer.add('the call history', () => history.flush())
  const onError = (error: unknown) => log.warn({ error }, 'arguments and results of calls could not be kept')
  const payloads =
    mode === 'off' ? undefined : new CallPayloads({ mode, store, secrets, vault, now, onError })
  closer.add('the payloads of calls', () => payloads?.close())
  const recorder = createCallRecorder({
    facts,
    now,
    redact: (text) => redactText(text, secrets),
    keep: payloads?.keep.bind(payloads),
  })
  // Not awaited, because the store thread starts at the same time. Only a clock that was set back makes it matter.
  void store.highestId().then(
    (id) => recorder.startAfter(id),
    (error: unknown) => log.warn({ error }, 'the call history could not be read'),
  )
  const calls = createCalls({
    store,
    history,
    payloads,
    facts,
    now,
    call: async (server_id, call) => {
      await upstreams.refreshFor(server_id, call.tool)
      return upstreams.call(server_id, call)
    },
  })
  const saved = createSavedCalls({ store: await openSavedCalls(database, vault), now })
  return { recorder, calls, saved }
}
