import { agentRoutes } from '../../agents/agents.routes.ts'
import { editRoutes } from '../../agents/edit.routes.ts'
import { buildApp } from '../../api/http/app.ts'
import { type AccessToken, type Guesses, hasToken } from '../../api/http/auth.ts'
import type { Front } from '../../api/http/front.ts'
import { redactRoutes } from '../../api/redact/redact.routes.ts'
import { secretRoutes } from '../../api/secrets/secrets.routes.ts'
import { MCP_ROUTES } from '../../gateway/endpoint/mcp.schema.ts'
import { keyRoutes } from '../../gateway/keys/keys.routes.ts'
import { pinRoutes } from '../../gateway/pins/pins.routes.ts'
import type { Pins } from '../../gateway/pins/pins.ts'
import { presetRoutes } from '../../gateway/presets/presets.routes.ts'
import { visibilityRoutes } from '../../gateway/visibility/visibility.routes.ts'
import { agentImportRoutes, exportFileRoutes, snippetImportRoutes } from '../../import/import.routes.ts'
import type { Config } from '../../kernel/config/config.ts'
import type { RunningSettings } from '../../kernel/config/running-settings.ts'
import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import type { Log } from '../../kernel/log.ts'
import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import type { Vault } from '../../kernel/secrets/vault.ts'
import { VERSION } from '../../kernel/version.ts'
import { callRoutes } from '../../observe/calls/calls.routes.ts'
import { savedCallRoutes } from '../../observe/calls/saved-calls.routes.ts'
import { eventRoutes } from '../../observe/events/events.routes.ts'
import { healthRoutes } from '../../observe/health/health.routes.ts'
import { liveRoutes } from '../../observe/live/live.routes.ts'
import type { Live } from '../../observe/live/live.service.ts'
import { logRoutes } from '../../observe/logs/logs.routes.ts'
import { createLogs } from '../../observe/logs/logs.service.ts'
import { metricsRoutes } from '../../observe/metrics/metrics.routes.ts'
import type { Metrics } from '../../observe/metrics/metrics.service.ts'
import { noticeRoutes } from '../../observe/notices/notices.routes.ts'
import { appFramePages, appRoutes } from '../../servers/apps/apps.routes.ts'
import { createFrames } from '../../servers/apps/frames.ts'
import { httpServerRoutes } from '../../servers/http/http-servers.routes.ts'
import type { HttpServers } from '../../servers/http/http-servers.service.ts'
import { isolationRoutes } from '../../servers/isolation/isolation.routes.ts'
import { createIsolation } from '../../servers/isolation/isolation.service.ts'
import { jobRoutes } from '../../servers/jobs/jobs.routes.ts'
import type { Jobs } from '../../servers/jobs/jobs.ts'
import { loginPages } from '../../servers/logins/login-pages.routes.ts'
import { oauthRoutes } from '../../servers/logins/oauth.routes.ts'
import { processRoutes } from '../../servers/orphans/orphans.routes.ts'
import { createProcesses } from '../../servers/orphans/orphans.service.ts'
import { packageRoutes } from '../../servers/packages/packages.routes.ts'
import type { Packages } from '../../servers/packages/packages.service.ts'
import type { Catalogues } from '../../servers/shared/catalogues.ts'
import { Elicitations } from '../../servers/shared/elicitations.ts'
import { elicitationRoutes } from '../../servers/shared/upstreams.routes.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { ProgramOf } from '../../servers/stdio/run-settings.ts'
import { serverRoutes } from '../../servers/stdio/servers.routes.ts'
import type { Servers } from '../../servers/stdio/servers.service.ts'
import { openOwnership } from '../../store/agents.store.ts'
import type { ConfigurationDatabase } from '../../store/configuration/configuration.ts'
import { endOrphan, findOrphans } from '../../supervisor/orphans/orphans.ts'

import type { openCalls } from '../calls.ts'
import type { Closer } from '../closer.ts'
import type { openEvents } from '../events.ts'
import type { openGateway } from '../gateway.ts'
import type { Logging } from '../logging.ts'
import type { openLogins } from '../logins.ts'
import type { openNotices } from '../notices.ts'
import type { openReferences } from '../references.ts'
import type { Runtime } from '../runtime.ts'
import type { ServiceOptions } from '../service-options.ts'
import { openAgents, registeredServers } from './agents.ts'
import { openImports } from './importing.ts'
import { openSelf } from './self.ts'

type Opened<Open extends (...args: never[]) => unknown> = Awaited<ReturnType<Open>>

interface Parts extends Opened<typeof openNotices>, Opened<typeof openReferences> {
  readonly folder: string
  readonly config: Config
  readonly running: RunningSettings
  readonly options: Pick<ServiceOptions, 'mainFile' | 'webFolder' | 'docsFolder' | 'shutDown'>
  readonly closer: Closer
  readonly database: ConfigurationDatabase
  readonly vault: Vault
  readonly facts: FactBus
  readonly accessToken: AccessToken
  readonly guesses: Guesses
  readonly secrets: KnownSecrets
  readonly log: Log
  readonly logging: Logging
  readonly host: string
  readonly front: Front
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly runtime: Runtime
  readonly upstreams: Upstreams
  readonly catalogues: Catalogues
  readonly pins: Pins
  readonly servers: Servers
  readonly httpServers: HttpServers
  readonly logins: Opened<typeof openLogins>
  readonly gateway: Opened<typeof openGateway>
  readonly calls: Opened<typeof openCalls>
  readonly events: Opened<typeof openEvents>
  readonly metrics: Metrics
  readonly live: Live
  readonly packages: Packages
  /** What a server of an installed package runs. */
  readonly programOf: ProgramOf
  readonly jobs: Jobs
}

/**
 * The REST API, and the rooms that only it needs. They are a bundle of their own, which is loaded when the gateway is
 * open: agents need neither the routes with their schemas nor the formats of agents' files.
 */
export async function openRest(parts: Parts) {
  const { config, options, database, vault, audit, accessToken, guesses, front, logging, runtime } = parts
  const { upstreams, servers, httpServers, gateway, calls } = parts
  const { auth_token_header_name: headerName, protect_reads: protectReads } = config
  const isOwner = hasToken(accessToken, headerName)
  const registered = () => registeredServers(servers, httpServers, parts.programOf)
  const agents = openAgents({
    ...parts,
    platform: config.platform,
    ownership: await openOwnership(database, vault, gateway.keyStore),
    registered,
    keys: gateway.keys,
    offeredTo: gateway.offeredTo,
    view: gateway.view,
    address: () => front.address(parts.host),
    mainFile: options.mainFile,
  })
  const imports = openImports({ ...parts, agents, registered, home: config.platform.home })
  const logs = createLogs({
    store: logging.store,
    flush: (patienceMs) => logging.pipeline.flush(patienceMs),
    now: Date.now,
    audit,
  })
  const { mark, platform, places } = runtime
  const processes = createProcesses({
    find: () => findOrphans({ table: platform.table, mark }),
    end: (id) => endOrphan(id, { platform, mark }),
    audit,
    now: Date.now,
  })
  const isolation = createIsolation({
    defaultIsolation: config.default_isolation,
    abilities: () => places.abilities(),
    pullImage: (image, pulling) => places.pullImage(image, pulling),
    jobs: parts.jobs,
    audit,
  })
  const shutDown = options.shutDown ?? (() => void parts.closer.close())
  const elicitations = new Elicitations()
  const apps = openApps(upstreams)
  const app = await buildApp({
    front,
    log: parts.log,
    version: VERSION,
    stream: { path: '/api/ws/metrics', ...parts.live },
    token: accessToken,
    headerName,
    protectReads,
    guesses,
    webFolder: options.webFolder,
    docsFolder: options.docsFolder,
    gatewayRoutes: MCP_ROUTES,
    pages: [loginPages(parts.logins), apps.pages],
    routes: [
      healthRoutes(parts.health, (headers) => !protectReads || isOwner(headers)),
      serverRoutes(servers, isOwner, elicitations),
      snippetImportRoutes(imports.snippets),
      httpServerRoutes(httpServers, isOwner, elicitations),
      oauthRoutes({ logins: parts.logins, find: (key) => httpServers.get(key) }),
      elicitationRoutes(elicitations),
      apps.routes,
      callRoutes(calls.calls, isOwner),
      savedCallRoutes(calls.saved),
      logRoutes(logs),
      processRoutes(processes),
      noticeRoutes(parts.notices, isOwner),
      eventRoutes(parts.events),
      redactRoutes(parts.secrets),
      exportFileRoutes(imports.exportFile, imports.importFile),
      liveRoutes(),
      metricsRoutes(parts.metrics),
      agentRoutes(agents, isOwner),
      agentImportRoutes(imports.agents),
      editRoutes(agents),
      packageRoutes(parts.packages, isOwner),
      isolationRoutes(isolation),
      jobRoutes(parts.jobs),
      secretRoutes(parts.namedSecrets),
      keyRoutes(gateway.keys),
      visibilityRoutes(gateway.visibility),
      presetRoutes(gateway.presets),
      pinRoutes(parts.pins, parts.catalogues, [
        { path: '/servers', tag: 'STDIO servers', servers },
        { path: '/http-servers', tag: 'HTTP servers', servers: httpServers },
      ]),
      ...openSelf({ ...parts, token: accessToken, shutDown }),
    ],
  })
  return { app, agents }
}
export type Rest = Opened<typeof openRest>

/** The pages of servers that hosts show beside results. */
function openApps(upstreams: Pick<Upstreams, 'relay'>) {
  const frames = createFrames({
    read: async (id, uri, options) =>
      upstreams.relay(id, { method: 'resources/read', params: { uri }, options }),
    now: Date.now,
  })
  return { routes: appRoutes(frames), pages: appFramePages(frames) }
}
