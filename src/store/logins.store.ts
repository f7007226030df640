import type { Vault } from '../kernel/secrets/vault.ts'
import type { OAuthClient } from '../net/oauth/oauth-clients.ts'
import type { LoginRecord, LoginStore, Registration } from '../servers/logins/login-record.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** Logins and registered clients, sealed. Decrypted once, then answered from memory. */
export async function openLoginStore(database: ConfigurationDatabase, vault: Vault): Promise<LoginStore> {
  const logins = new Map<string, LoginRecord>()
  const clients = new Map<string, OAuthClient>()
  for (const { server_id, sealed } of await database.db.selectFrom('logins').selectAll().execute()) {
    try {
      logins.set(server_id, vault.open(loginPlace(server_id), sealed) as LoginRecord)
    } catch {
      throw await database.refuse(`the login at '${server_id}' cannot be read`)
    }
  }
  for (const { id, sealed } of await database.db.selectFrom('oauth_clients').selectAll().execute()) {
    try {
      clients.set(id, vault.open(clientPlace(id), sealed) as OAuthClient)
    } catch {
      throw await database.refuse('a registered OAuth client cannot be read')
    }
  }
  return {
    all: () => [...logins.values()],
    find: (serverId) => logins.get(serverId),
    // A refresh token that is not saved is lost, so this is done on a full disk too.
    save: (record, audit) =>
      database
        .change<boolean>(
          async (trx) => {
            const { server_id } = record
            const known = await trx
              .selectFrom('tool_servers')
              .select('id')
              .where('id', '=', server_id)
              .execute()
            if (known.length === 0) return [false, null] // removed meanwhile
            const sealed = vault.seal(loginPlace(server_id), record)
            await trx.replaceInto('logins').values({ server_id, sealed }).execute()
            return [true, audit]
          },
          { frees: true, committed: (isSaved) => isSaved && logins.set(record.server_id, record) },
        )
        .then(() => undefined),
    remove: (serverId, audit) =>
      database.delete('logins', ['server_id', serverId], audit, () => logins.delete(serverId)),
    forget: (serverId) => void logins.delete(serverId),
    client: (registration) => clients.get(clientId(registration)),
    saveClient: (registration, client) => {
      const id = clientId(registration)
      const row = { id, sealed: vault.seal(clientPlace(id), client) }
      return database.put('oauth_clients', row, null, { committed: () => clients.set(id, client) })
    },
    removeClient: (registration) => {
      const id = clientId(registration)
      return database.delete('oauth_clients', ['id', id], null, () => clients.delete(id))
    },
  }
}

const clientId = ({ issuer, redirectUri, resource }: Registration): string =>
  JSON.stringify([issuer, redirectUri, resource])
const loginPlace = (serverId: string): string => `${serverId}:login`
const clientPlace = (id: string): string => `oauth-client/${id}`
