import type { AuditEntry, FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import type { Vault } from '../kernel/secrets/vault.ts'
import { VERSION } from '../kernel/version.ts'
import type { Network } from '../net/connection-pool.ts'
import type { HttpServers } from '../servers/http/http-servers.service.ts'
import { Logins } from '../servers/logins/logins.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { openLoginStore } from '../store/logins.store.ts'

interface Deps {
  readonly database: ConfigurationDatabase
  readonly vault: Vault
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly log: Log
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly network: Partial<Network>
  /** The service's own port, once it listens. */
  readonly port: () => number
  readonly publicUrl: string | null
  readonly clientMetadataUrl: string | null
  readonly httpServers: () => HttpServers
}

/** The logins at HTTP servers. */
export async function openLogins(deps: Deps): Promise<Logins> {
  const { database, vault, log, port, publicUrl, clientMetadataUrl, httpServers } = deps
  const { facts, secrets, audit, network } = deps
  const address = () => `http://127.0.0.1:${port()}`
  return new Logins({
    ...{ facts, secrets, audit, network, address },
    store: await openLoginStore(database, vault),
    version: VERSION,
    now: Date.now,
    ownOrigins: () => [
      ...['127.0.0.1', 'localhost', '[::1]'].map((host) => `http://${host}:${port()}`),
      ...(publicUrl === null ? [] : [new URL(publicUrl).origin]),
    ],
    publicUrl: () => publicUrl,
    clientMetadataUrl: () => clientMetadataUrl,
    server: (key) => httpServers().loginServer(key),
    stored: (id) => httpServers().storedLogin(id),
    connect: (id) => httpServers().connectAfterLogin(id),
    warn: (details, message) => log.warn({ ...details }, message),
  })
}
