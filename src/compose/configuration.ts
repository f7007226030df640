import type { Config } from '../kernel/config/config.ts'
import { SecretKey } from '../kernel/config/secret-key.ts'
import type { FactBus } from '../kernel/facts.ts'
import { DEFAULTS as HTTP_DEFAULTS } from '../servers/http/http-servers.schema.ts'
import { MAX_SERVERS, OFFER_DEFAULTS } from '../servers/shared/server-fields.ts'
import { DEFAULT_SETTINGS } from '../servers/stdio/run-settings.ts'
import { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { openVault } from '../store/secrets.store.ts'
import { ServerTable } from '../store/servers.store.ts'
import type { Closer } from './closer.ts'
import type { Logging } from './logging.ts'

interface Parts {
  readonly config: Config
  readonly facts: FactBus
  readonly closer: Closer
  readonly logging: Logging
  readonly afterDamage: 'restore' | 'start_empty' | undefined
}

const BACKUP_EVERY_MS = 24 * 3_600_000

/** The configuration store with its secrets, the servers in it, and a backup every day. */
export async function openConfiguration({ config, facts, closer, logging, afterDamage }: Parts) {
  const { folders, toolroom_secret_key } = config
  const { log } = logging
  const database = await ConfigurationDatabase.open({
    folder: folders.data,
    facts,
    afterDamage,
    onTrouble: (message, error) => log.error({ error }, message),
  })
  closer.add('the configuration store', () => database.close())
  const vault = await openVault(database, new SecretKey(folders.config, toolroom_secret_key))
  const table = await ServerTable.open(database, vault, MAX_SERVERS, {
    stdio: { ...DEFAULT_SETTINGS, ...OFFER_DEFAULTS, package: null },
    http: HTTP_DEFAULTS,
  })
  logging.mirrorAudit(database, (id) => table.idOf(id) === id)
  const backups = setInterval(
    () => void database.backUp().catch((error) => log.error({ error }, 'backup failed')),
    BACKUP_EVERY_MS,
  )
  closer.add('the backup timer', () => clearInterval(backups))
  return { database, vault, table }
}
