import { setImmediate as turn } from 'node:timers/promises'
import { Front } from '../api/http/front.ts'
import { LaterRoute } from '../api/http/later-route.ts'
import type { Config } from '../kernel/config/config.ts'
import { prepareDataFolder, removeOwnTemps } from '../kernel/config/data-folder.ts'
import { exposure, hostNamesOf } from '../kernel/config/host.ts'
import { runningInstance } from '../kernel/config/running-instance.ts'
import { RunningSettings } from '../kernel/config/running-settings.ts'
import { tokenFor } from '../kernel/config/token.ts'
import { FactBus } from '../kernel/facts.ts'
import { isMcpPath } from '../kernel/http/mcp-path.ts'
import { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import type { probePort } from '../net/probe-port.ts'
import type { Live } from '../observe/live/live.service.ts'
import type { Metrics } from '../observe/metrics/metrics.service.ts'
import type { HttpServers } from '../servers/http/http-servers.service.ts'
import { PackageFolders } from '../servers/packages/folders.ts'
import type { Packages } from '../servers/packages/packages.service.ts'
import { installedPrograms } from '../servers/packages/program.ts'
import { Upstreams } from '../servers/shared/upstreams.ts'
import type { Server } from '../servers/stdio/servers.schema.ts'
import { Servers } from '../servers/stdio/servers.service.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { openDesiredStates } from '../store/desired-states.store.ts'
import { lockDataFolder } from '../store/instance-lock.ts'
import { openPackageStore } from '../store/packages.store.ts'
import { thisPlatform } from '../supervisor/platform/this-platform.ts'
import { openCalls } from './calls.ts'
import type { Closer } from './closer.ts'
import { openConfiguration } from './configuration.ts'
import type { openGateway } from './gateway.ts'
import { openLogging } from './logging.ts'
import { openReferences } from './references.ts'
import { openCatalogues, openRuntime } from './runtime.ts'
import type { ServiceOptions } from './service-options.ts'

/** What the rooms of the core ask of those that are opened after them. */
export interface Doors {
  readonly live: Live
  readonly metrics: Metrics
  readonly packages: Packages
  readonly httpServers: HttpServers
  readonly gateway: Awaited<ReturnType<typeof openGateway>>
  readonly probe: typeof probePort
  readonly usedBy: (serverId: string) => readonly string[]
}

export type Core = Awaited<ReturnType<typeof openCore>>

/** The stores, the tool servers, and the port. Servers that run from the beginning are started. */
export async function openCore(
  config: Config,
  options: ServiceOptions,
  host: string,
  loopback: boolean,
  closer: Closer,
) {
  let opened: Doors | undefined
  /** Only for what is called after the service has started. */
  const doors = (): Doors => {
    if (!opened) throw new Error('The service is still starting')
    return opened
  }
  const startedAt = performance.now()
  const uptimeMs = () => performance.now() - startedAt
  const folder = config.folders.data
  const repairs = prepareDataFolder(folder)
  const lock = lockDataFolder(folder, runningInstance)
  closer.add('the instance lock', () => lock.release())
  removeOwnTemps(folder)
  const token = tokenFor(folder, config.auth_token)
  const platform = options.platform ?? thisPlatform
  const exposed = exposure(loopback, config.protect_reads)
  const warnings = [...config.warnings, ...token.warnings, ...exposed, ...platform.warnings]

  // Facts, secrets and the log.
  const facts = new FactBus((error) => log.error({ error }, 'an event subscriber failed'))
  const secrets = new KnownSecrets()
  secrets.set('auth_token', [token.value])
  if (config.toolroom_secret_key) secrets.set('secret_key', [config.toolroom_secret_key])
  const threshold = { level: config.log_level }
  const running = new RunningSettings(config, ({ log_level }) => {
    threshold.level = log_level
  })
  const logging = await openLogging({ folder, config, threshold, facts, secrets, closer, options })
  const { log, serverLines } = logging

  const { afterDamage } = options
  const { database, vault, table } = await openConfiguration({ config, facts, closer, logging, afterDamage })

  // Processes and MCP.
  const base = { folder, facts, secrets, log, closer, database }
  const { catalogues, pins } = await openCatalogues({ ...base, table, hold: config.hold_changed_tools })
  const { wasKilled } = lock
  const ownFolders = [folder, config.folders.config]
  const runtime = await openRuntime({
    ...base,
    platform,
    hidden: ownFolders,
    catalogues,
    wasKilled,
    isWatched: () => opened?.live.hasClients() ?? false,
  })
  closer.add('the tool servers', () => runtime.close())
  const upstreams = new Upstreams()

  // Rooms.
  const { namedSecrets, references } = await openReferences({
    ...base,
    vault,
    env: config.platform.env,
    servers: async () => [...(await servers.list()), ...(await doors().httpServers.list())],
  })
  const packageStore = await openPackageStore(database)
  const packageFolders = new PackageFolders(folder)
  packageFolders.cleanUp(packageStore.all())
  const programOf = installedPrograms(packageStore, packageFolders)
  const calls = await openCalls({
    ...base,
    store: logging.calls,
    mode: config.call_payloads,
    vault,
    upstreams,
  })
  const audit: ConfigurationDatabase['audit'] = (entry) => database.audit(entry)
  const common = {
    ...base,
    now: Date.now,
    statsOf: (id: string) => doors().metrics.statsOf(id),
    gatewayNames: (id: string) => doors().gateway.namesOf(id),
    upstreams,
    catalogues,
    references,
    calls: calls.recorder,
    audit,
  }
  const servers: Servers = new Servers({
    ...common,
    store: table.of<Server>('stdio'),
    desiredStates: await openDesiredStates(database),
    engine: runtime.engine,
    instances: runtime.instances,
    findProgram: runtime.findProgram,
    shellPath: runtime.shellPath,
    placeAbilities: () => runtime.places.abilities(),
    probe: (...port) => doors().probe(...port),
    tryOut: runtime.tryOut,
    ownFolders,
    defaultIsolation: config.default_isolation,
    linesDropped: (id) => serverLines.dropped(id),
    usedBy: (id) => opened?.usedBy(id) ?? [],
    packages: { programOf, binOf: (name, program) => doors().packages.binOf(name, program) },
  })
  await servers.load()

  // The port first: if it is taken, no server is started. Requests wait until the doors are open.
  const mcpRoute = new LaterRoute(isMcpPath)
  const front = new Front({ allowedHosts: hostNamesOf(config), gateway: mcpRoute })
  await front.listen(host, config.port)
  closer.add('the HTTP listener', () => front.close())
  facts.hold()
  const started = (options.withoutServers ? Promise.resolve() : servers.startWithToolroom()).catch(
    (error: unknown) => log.error({ error }, 'servers could not be started'),
  )
  await turn() // the first process starts
  return {
    ...common,
    config,
    options,
    running,
    token,
    warnings,
    repairs,
    lock,
    logging,
    vault,
    table,
    pins,
    runtime,
    namedSecrets,
    packageStore,
    packageFolders,
    programOf,
    calls,
    servers,
    started,
    front,
    mcpRoute,
    host,
    uptimeMs,
    /** From now on, what the rooms ask of the doors is answered. */
    onOpened: (all: Doors) => {
      opened = all
    },
  }
}
