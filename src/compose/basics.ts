import { fileURLToPath } from 'node:url'
import { createSecrets, type Secrets } from '../api/secrets/secrets.service.ts'
import { tokenFor } from '../kernel/config/auth-token.ts'
import type { Config } from '../kernel/config/config.ts'
import { runningInstance } from '../kernel/config/find-running-instance.ts'
import { SecretKey } from '../kernel/config/secret-key.ts'
import { ENV_NAMES, RunningSettings } from '../kernel/config/settings.ts'
import { prepareDataFolder, removeOwnTemps } from '../kernel/config/system/data-folder.ts'
import { type AuditEntry, FactBus, type ServerKind } from '../kernel/fact-bus.ts'
import { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import { assertPortFree } from '../net/probe-port.ts'
import { DEFAULTS as HTTP_DEFAULTS, type HttpServer } from '../servers/http/http-servers.schema.ts'
import { secretNamesIn } from '../servers/shared/definition/definition-references.ts'
import { allowsAll, keysOf } from '../servers/shared/definition/outgoing.ts'
import { References } from '../servers/shared/definition/resolved-references.ts'
import { MAX_SERVERS, type ServerRecord } from '../servers/shared/server-fields.ts'
import { OFFER_DEFAULTS } from '../servers/shared/tool-settings.ts'
import { DEFAULT_SETTINGS } from '../servers/stdio/run-settings.ts'
import type { Server } from '../servers/stdio/servers.schema.ts'
import { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { lockDataFolder } from '../store/instance-lock.ts'
import { openVault } from '../store/open-vault.ts'
import { openSecretStore } from '../store/secrets.store.ts'
import { ServerTable } from '../store/servers.store.ts'
import { DiskReserve } from '../store/sqlite/disk-space.ts'
import type { Platform } from '../supervisor/platform/platform.ts'
import type { Closer } from './closer.ts'
import { type OpenStores, openLogging } from './logging.ts'

export interface ServiceOptions {
  /** The operating system. By default, the one that the service runs on. */
  readonly platform?: Platform
  readonly afterDamage?: 'restore' | 'start_empty' | undefined
  /** No server starts by itself. */
  readonly withoutServers?: boolean | undefined
  /** Writes a warning to the terminal: one that cannot be logged, or that must not be overlooked. */
  readonly warn: (sentence: string) => void
  readonly openStores: OpenStores
  /** Called when the port is open. The gateway answers at once, the API a moment later. */
  readonly onOpen?: (at: Opened) => void
  /** Ends the process as a signal does. By default, the service is closed. */
  readonly shutDown?: (() => void) | undefined
  /** The file of this program, which agents start as their bridge. */
  readonly mainFile?: string | undefined
  /** The folder with the built dashboard. */
  readonly webFolder?: string | undefined
  /** The folder with the rendered guide. */
  readonly docsFolder?: string | undefined
}

export interface Opened {
  readonly address: string
  readonly tokenFile: string | null
  readonly warnings: readonly string[]
}

export type Basics = Awaited<ReturnType<typeof openBasics>>

/** Of a service that tests open from the sources. */
const BUILT = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const BACKUP_EVERY_MS = 24 * 3_600_000

/** What everything else needs: the data folder with its lock, the token, events, secrets, the log and the configuration. */
export async function openBasics(
  config: Config,
  options: ServiceOptions,
  closer: Closer,
  bind: { readonly address: string },
) {
  const startedAt = performance.now()
  const folder = config.folders.data
  const repairs = prepareDataFolder(folder)
  new DiskReserve(folder).releaseForStart()
  const lock = lockDataFolder(folder, runningInstance)
  closer.add('the instance lock', () => lock.release())
  await assertPortFree(bind.address, config.port) // before a database is created
  removeOwnTemps(folder)
  const token = tokenFor(folder, config.auth_token)
  const facts = new FactBus((error) => log.error({ error }, 'an event subscriber failed'))
  const secrets = new KnownSecrets()
  secrets.set('auth_token', [token.value])
  if (config.toolroom_secret_key) secrets.set('secret_key', [config.toolroom_secret_key])
  const threshold = { level: config.log_level }
  const running = new RunningSettings(config, ({ log_level }) => {
    threshold.level = log_level
  })
  const logging = await openLogging({ folder, config, threshold, facts, secrets, closer, options })
  const { log } = logging
  const database = await ConfigurationDatabase.open({
    folder,
    facts,
    afterDamage: options.afterDamage,
    onTrouble: (message, error) => log.error({ error }, message),
  })
  closer.add('the configuration store', () => database.close())
  const vault = await openVault(database, new SecretKey(config.folders.config, config.toolroom_secret_key))
  const table = await ServerTable.open(database, vault, MAX_SERVERS, completed)
  logging.mirrorAudit(database, (id) => table.idOf(id) === id)
  const backups = setInterval(
    () => void database.backUp().catch((error) => log.error({ error }, 'backup failed')),
    BACKUP_EVERY_MS,
  )
  closer.add('the backup timer', () => clearInterval(backups))
  const stores = { stdio: table.of<Server>('stdio'), http: table.of<HttpServer>('http') }
  const namedSecrets: Secrets = createSecrets({
    facts,
    secrets,
    store: await openSecretStore(database, vault),
    usedBy: async (name) =>
      [...(await stores.stdio.all()), ...(await stores.http.all())]
        .filter((server) => secretNamesIn(server).includes(name))
        .map(({ id }) => id),
    now: Date.now,
  })
  return {
    config,
    options,
    /** The file of this program. */
    mainFile: options.mainFile ?? BUILT,
    closer,
    folder,
    /** What was repaired in the data folder. */
    repairs,
    lock,
    token,
    facts,
    secrets,
    running,
    logging,
    log,
    /** The minimum level of the log. */
    threshold,
    database,
    vault,
    table,
    stores,
    namedSecrets,
    /** The references that servers make to named secrets and to the environment. */
    references: new References({
      env: config.platform.env,
      ownSettings: ENV_NAMES,
      secretOf: namedSecrets.current,
      secrets,
    }),
    audit: (entry: AuditEntry): Promise<void> => database.audit(entry),
    uptimeMs: () => performance.now() - startedAt,
  }
}

const SERVER_DEFAULTS = {
  stdio: { ...DEFAULT_SETTINGS, ...OFFER_DEFAULTS, package: null },
  http: HTTP_DEFAULTS,
}

/** A row of a version that did not ask: its server goes on getting what it got. */
function completed(kind: ServerKind, stored: ServerRecord): ServerRecord {
  const record = { ...SERVER_DEFAULTS[kind], ...stored }
  return { ...record, outgoing_allowed: stored.outgoing_allowed ?? keysOf(record, allowsAll) }
}
