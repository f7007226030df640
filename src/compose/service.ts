import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { prepareDataFolder, removeOwnTemps } from '../config/data-folder.ts'
import { bindOf, exposure, hostNamesOf } from '../config/host.ts'
import { runningInstance } from '../config/running-instance.ts'
import { RunningSettings } from '../config/running-settings.ts'
import { assertMayBind, tokenFor } from '../config/token.ts'
import { AccessToken } from '../http/auth.ts'
import { Front } from '../http/front.ts'
import type { HttpServer } from '../http-servers/http-servers.schema.ts'
import { createHttpServers, type HttpServers } from '../http-servers/http-servers.service.ts'
import { Closer } from '../kernel/closer.ts'
import { FactBus } from '../kernel/facts.ts'
import { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import { VERSION } from '../kernel/version.ts'
import { probePort } from '../net/probe-port.ts'
import { proxyFromEnvironment } from '../net/proxy.ts'
import type { Server } from '../servers/servers.schema.ts'
import { createServers, type Servers } from '../servers/servers.service.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { lockDataFolder } from '../store/instance-lock.ts'
import { openPackageStore } from '../store/packages.store.ts'
import { openWishes } from '../store/wishes.store.ts'
import { thisPlatform } from '../supervisor/platform/this-platform.ts'
import { Upstreams } from '../upstreams/upstreams.ts'
import { openCalls } from './calls.ts'
import { openConfiguration } from './configuration.ts'
import { openEvents } from './events.ts'
import { openGateway } from './gateway.ts'
import { openGuesses } from './guesses.ts'
import { openLogging } from './logging.ts'
import { openLogins } from './logins.ts'
import { openNotices } from './notices.ts'
import { openObservability } from './observability.ts'
import { openPackages } from './packages.ts'
import { openReferences } from './references.ts'
import type { Rest } from './rest.ts'
import { openCatalogues, openRemotes, openRuntime } from './runtime.ts'
import type { Service, ServiceOptions } from './service-options.ts'

/**
 * Building the app blocks for a moment, so agents that already wait for the gateway are served first: it begins this long
 * after the servers have started, which their calls wait for. A server that takes longer to start does not delay it.
 */
const AGENTS_FIRST_MS = 150
const SERVERS_FIRST_MS = 1000
/** Reading the files of all agents blocks for a moment, so it follows after the first requests. */
const AGENTS_AFTER_MS = 300

/** Opens everything from the bottom up, and closes it in reverse. The only place that knows all rooms. */
export async function openService(config: Config, options: ServiceOptions): Promise<Service> {
  const bind = assertMayBind(bindOf(config.host), config.host, config.auth_token)
  const closer = new Closer((name, error) => options.warn(`Closing ${name} failed: ${String(error)}`))
  try {
    return await open(config, options, bind.address, bind.loopback, closer)
  } catch (error) {
    await closer.close()
    throw error
  }
}

async function open(
  config: Config,
  options: ServiceOptions,
  host: string,
  loopback: boolean,
  closer: Closer,
): Promise<Service> {
  let rest: Rest | undefined // from when the API is built
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

  // Processes, MCP, metrics and the live stream.
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
    isWatched: () => live.hasClients(),
  })
  closer.add('the tool servers', () => runtime.close())
  const upstreams = new Upstreams()
  const { metrics, live } = openObservability({
    ...base,
    retentionDays: config.metrics_retention_days,
    uptimeMs,
    servers: () => upstreams.all().map(({ id, kind, status }) => ({ server_id: id, type: kind, status })),
    findServer: async (key, kind) => table.idOf(key, kind),
    hintFor: (key, kind) => upstreams.hintFor(key, kind),
    contextTokens: (agentType) => gateway.contextTokens(agentType),
  })

  // Rooms.
  const { namedSecrets, references } = await openReferences({
    ...base,
    vault,
    env: config.platform.env,
    servers: async () => [...(await servers.list()), ...(await httpServers.list())],
  })
  const { packages, jobs } = openPackages({
    ...base,
    references,
    env: config.platform.env,
    minAgeDays: () => running.get('min_release_age_days'),
    mcpRegistry: () => running.get('mcp_registry_url'),
    store: await openPackageStore(database),
    engine: runtime,
    servers: () => servers,
  })
  closer.add('the jobs', () => jobs.close())
  packages.cleanUp()
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
    statsOf: metrics.statsOf,
    gatewayNames: (id: string) => gateway.namesOf(id),
    upstreams,
    catalogues,
    references,
    calls: calls.recorder,
    audit,
  }
  const servers: Servers = createServers({
    ...common,
    store: table.of<Server>('stdio'),
    wishes: await openWishes(database),
    instances: runtime.instances,
    findProgram: runtime.findProgram,
    shellPath: runtime.shellPath,
    placeAbilities: () => runtime.places.abilities(),
    probe: probePort,
    tryOut: runtime.tryOut,
    ownFolders,
    defaultIsolation: config.default_isolation,
    linesDropped: (id) => serverLines.dropped(id),
    usedBy: (id) => rest?.agents.usedBy(id) ?? [],
    packages,
  })
  const network = { proxyFor: proxyFromEnvironment(config.platform.env) }
  const logins = await openLogins({
    ...base,
    vault,
    audit,
    network,
    port: () => front.port,
    publicUrl: config.public_url ?? null,
    clientMetadataUrl: config.oauth_client_metadata_url ?? null,
    httpServers: () => httpServers,
  })
  const httpServers: HttpServers = createHttpServers({
    ...common,
    store: table.of<HttpServer>('http'),
    remotes: openRemotes(network),
    logins,
    intervalMs: config.http_check_interval_s * 1000,
    random: Math.random,
  })
  closer.add('the HTTP servers', () => httpServers.close())
  const headerName = config.auth_token_header_name
  const accessToken = new AccessToken(token.value)
  const guesses = openGuesses(audit, log)
  const gateway = await openGateway({
    ...base,
    headerName,
    wrongKeyDelayMs: (address) => guesses.delayMs(address),
    isToken: (given) => accessToken.matches(given),
    catalogues,
    pins,
    upstreams,
    calls: calls.recorder,
  })
  const front = new Front({ allowedHosts: hostNamesOf(config), gateway: gateway.gateway })
  closer.add('the agents', () => rest?.agents.close())
  await servers.load()
  await httpServers.load()
  const { notices, health } = await openNotices({
    ...base,
    upstreams,
    catalogues,
    hold: config.hold_changed_tools,
    packages,
    agents: { fileTroubles: (agentType) => rest?.agents.fileTroubles(agentType) ?? [] },
    runtime,
    logging,
    warnings,
    tokenWarnings: token.file === null ? token.warnings : [],
    token: accessToken,
    uptimeMs,
  })
  // The gateway and the servers that run from the beginning start first. The API is built meanwhile.
  closer.add('the HTTP listener and the tool servers', () => Promise.all([front.close(), runtime.close()]))
  closer.add('the live stream', () => live.close())
  closer.add('the gateway', () => gateway.gateway.close())
  const events = openEvents({ ...base, notices }) // closed first: that all servers stop with Toolroom is no event
  await front.listen(host, config.port)
  const started = (options.withoutServers ? Promise.resolve() : servers.startWithToolroom()).catch(
    (error: unknown) => log.error({ error }, 'servers could not be started'),
  )
  await turn() // the processes start while this one waits for the disk
  const address = front.address(host)
  lock.announce(address)
  const allWarnings = [...warnings, ...repairs]
  if (options.onOpen) {
    options.onOpen({ address, tokenFile: token.file, warnings: allWarnings })
    const settled = Promise.race([started, sleep(SERVERS_FIRST_MS)]).then(() => sleep(AGENTS_FIRST_MS))
    await front.untilRequested(settled)
  }
  logging.startStores()
  const { openRest } = await import('./rest.ts')
  rest = await openRest({
    ...base,
    config,
    running,
    accessToken,
    guesses,
    vault,
    audit,
    host,
    front,
    live,
    options,
    logging,
    runtime,
    upstreams,
    catalogues,
    pins,
    servers,
    httpServers,
    logins,
    gateway,
    calls,
    health,
    notices,
    events,
    metrics,
    packages,
    jobs,
    namedSecrets,
    references,
  })
  const { app, agents } = rest
  closer.add('the app', () => app.fastify.close())
  log.info({ address, version: VERSION }, 'service started')
  for (const warning of allWarnings) log.warn(warning)
  const openAgentFiles = () =>
    void agents
      .open()
      .then(() => notices.checkAgents())
      .catch((error: unknown) => log.error({ error }, "agents' files are not watched"))
  const scan = setTimeout(openAgentFiles, AGENTS_AFTER_MS)
  closer.add('the scan of agents', () => clearTimeout(scan))
  closer.add('the service', () => log.info('service stopping'))
  return {
    app,
    rooms: { servers },
    address,
    tokenFile: token.file,
    warnings: allWarnings,
    log,
    close: () => closer.close(),
  }
}
