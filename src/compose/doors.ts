import { setTimeout as sleep } from 'node:timers/promises'
import { AccessToken, Guesses } from '../api/http/auth.ts'
import type { AuditEntry } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import { VERSION } from '../kernel/version.ts'
import { HttpMcpClient } from '../mcp/transports/http/http-mcp-client.ts'
import { testConnection } from '../mcp/transports/http/test-connection.ts'
import { probePort } from '../net/probe-port.ts'
import { proxyFromEnvironment } from '../net/proxy.ts'
import type { HttpServer } from '../servers/http/http-servers.schema.ts'
import { HttpServers } from '../servers/http/http-servers.service.ts'
import type { Core } from './core.ts'
import { openEvents } from './events.ts'
import { openGateway } from './gateway.ts'
import { openLogins } from './logins.ts'
import { openNotices } from './notices.ts'
import { openObservability } from './observability.ts'
import { openPackages } from './packages.ts'
import type { Rest } from './rest/rest.ts'
import type { Service } from './service-options.ts'

/**
 * Building the app blocks for a moment, so agents that already wait for the gateway are served first: it begins this long
 * after the servers have started, which their calls wait for. A server that takes longer to start does not delay it.
 */
const AGENTS_FIRST_MS = 150
const SERVERS_FIRST_MS = 1000
/** Reading the files of all agents blocks for a moment, so it follows after the first requests. */
const AGENTS_AFTER_MS = 300

/** The gateway and the REST API, and the rooms that no tool server needs. */
export async function openDoors(core: Core): Promise<Service> {
  const { config, options, folder, facts, secrets, log, closer, database, table } = core
  const { logging, runtime, upstreams, catalogues, pins, references, servers, front, token, host } = core
  const { uptimeMs, vault, calls, audit, running } = core
  const base = { folder, facts, secrets, log, closer, database }
  let rest: Rest | undefined // from when the API is built
  const { metrics, live } = openObservability({
    ...base,
    retentionDays: config.metrics_retention_days,
    uptimeMs,
    servers: () => upstreams.all().map(({ id, kind, status }) => ({ server_id: id, type: kind, status })),
    findServer: async (key, kind) => table.idOf(key, kind),
    hintFor: (key, kind) => upstreams.hintFor(key, kind),
    contextTokens: (agentType) => gateway.contextTokens(agentType),
  })
  const { packages, jobs } = openPackages({
    ...base,
    references,
    env: config.platform.env,
    minAgeDays: () => running.get('min_release_age_days'),
    mcpRegistry: () => running.get('mcp_registry_url'),
    store: core.packageStore,
    folders: core.packageFolders,
    engine: runtime,
    servers,
  })
  closer.add('the jobs', () => jobs.close())
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
  const httpServers: HttpServers = new HttpServers({
    ...core,
    calls: calls.recorder,
    store: table.of<HttpServer>('http'),
    openClient: (options) => new HttpMcpClient({ version: VERSION, network, ...options }),
    testConnection: (options) => testConnection({ version: VERSION, network, ...options }),
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
  closer.add('the agents', () => rest?.agents.close())
  core.onOpened({
    live,
    metrics,
    packages,
    httpServers,
    gateway,
    probe: probePort,
    usedBy: (id) => rest?.agents.usedBy(id) ?? [],
  })
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
    warnings: core.warnings,
    tokenWarnings: token.file === null ? token.warnings : [],
    token: accessToken,
    uptimeMs,
  })
  closer.add('the HTTP listener and the tool servers', () => Promise.all([front.close(), runtime.close()]))
  closer.add('the live stream', () => live.close())
  closer.add('the gateway', () => gateway.gateway.close())
  const events = openEvents({ ...base, notices }) // closed first: that all servers stop with Toolroom is no event
  facts.release()
  core.mcpRoute.open(gateway.gateway.listener)
  const address = front.address(host)
  core.lock.announce(address)
  const warnings = [...core.warnings, ...core.repairs]
  if (options.onOpen) {
    options.onOpen({ address, tokenFile: token.file, warnings })
    const settled = Promise.race([core.started, sleep(SERVERS_FIRST_MS)]).then(() => sleep(AGENTS_FIRST_MS))
    await front.untilRequested(settled)
  }
  logging.startStores()
  const { openRest } = await import('./rest/rest.ts')
  rest = await openRest({
    ...core,
    accessToken,
    guesses,
    live,
    httpServers,
    logins,
    gateway,
    health,
    notices,
    events,
    metrics,
    packages,
    jobs,
  })
  const { app, agents } = rest
  closer.add('the app', () => app.fastify.close())
  log.info({ address, version: VERSION }, 'service started')
  for (const warning of warnings) log.warn(warning)
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
    warnings,
    log,
    close: () => closer.close(),
  }
}

/** Counts wrong tokens, gateway keys and login codes, and audits an address that keeps sending them. */
function openGuesses(audit: (entry: AuditEntry) => Promise<void>, log: Log): Guesses {
  const note = 'more than 10 wrong tokens, gateway keys or login codes within a minute; answers are delayed'
  return new Guesses((address) => {
    const entry = { action: 'token_guessing', subject: address, request_id: null, detail: { address, note } }
    void audit(entry).catch((error: unknown) => log.error({ error }, 'audit failed'))
  })
}
