import { dirname, join } from 'node:path'
import { agentRoutes } from '../agents/agents.routes.ts'
import { editRoutes } from '../agents/edit.routes.ts'
import { type App, buildApp } from '../api/http/app.ts'
import { hasToken } from '../api/http/auth.ts'
import { redactRoutes } from '../api/redact/redact.routes.ts'
import { secretRoutes } from '../api/secrets/secrets.routes.ts'
import { autostartRoutes } from '../api/settings/autostart.routes.ts'
import { settingsRoutes } from '../api/settings/settings.routes.ts'
import { createSettings } from '../api/settings/settings.service.ts'
import { loginRoutes } from '../api/sign-in/sign-in.routes.ts'
import { LoginCodes } from '../api/sign-in/sign-in-codes.ts'
import { installAtLogin, stateAtLogin } from '../cli/autostart/autostart.ts'
import { visibilityRoutes } from '../gateway/catalogue/visibility.routes.ts'
import { MCP_ROUTES } from '../gateway/endpoint/mcp.schema.ts'
import { keyRoutes } from '../gateway/keys/keys.routes.ts'
import { pinRoutes } from '../gateway/pins/pins.routes.ts'
import { presetRoutes } from '../gateway/presets/presets.routes.ts'
import { agentImportRoutes, exportFileRoutes, snippetImportRoutes } from '../import/import.routes.ts'
import { programName } from '../kernel/config/program-name.ts'
import { problemIn } from '../kernel/validate.ts'
import { VERSION } from '../kernel/version.ts'
import { callRoutes } from '../observe/calls/calls.routes.ts'
import { savedCallRoutes } from '../observe/calls/saved-calls.routes.ts'
import { eventRoutes } from '../observe/events/events.routes.ts'
import { healthRoutes } from '../observe/health/health.routes.ts'
import { liveRoutes } from '../observe/live/live.routes.ts'
import { logRoutes } from '../observe/logs/logs.routes.ts'
import { createLogs } from '../observe/logs/logs.service.ts'
import { metricsRoutes } from '../observe/metrics/metrics.routes.ts'
import { noticeRoutes } from '../observe/notices/notices.routes.ts'
import { appFramePages, appRoutes } from '../servers/apps/apps.routes.ts'
import { createIframes } from '../servers/apps/iframes.ts'
import { httpServerRoutes } from '../servers/http/http-servers.routes.ts'
import { isolationRoutes } from '../servers/isolation/isolation.routes.ts'
import { createIsolation } from '../servers/isolation/isolation.service.ts'
import { jobRoutes } from '../servers/jobs/jobs.routes.ts'
import { loginPages } from '../servers/logins/login-pages.routes.ts'
import { oauthRoutes } from '../servers/logins/oauth.routes.ts'
import { processRoutes } from '../servers/orphans/orphans.routes.ts'
import { createProcesses } from '../servers/orphans/orphans.service.ts'
import { packageRoutes } from '../servers/packages/packages.routes.ts'
import { sampleRoutes } from '../servers/sample/sample.routes.ts'
import { createSample } from '../servers/sample/sample.service.ts'
import { Elicitations } from '../servers/shared/elicitations.ts'
import { elicitationRoutes } from '../servers/shared/upstreams.routes.ts'
import type { Upstreams } from '../servers/shared/upstreams.ts'
import { serverRoutes } from '../servers/stdio/servers.routes.ts'
import { tryRoutes } from '../servers/tries/tries.routes.ts'
import { createTries } from '../servers/tries/try-servers.ts'
import { endOrphan, findOrphans } from '../supervisor/orphans/orphans.ts'
import { openAgents, registeredServers } from './agents.ts'
import type { Basics } from './basics.ts'
import type { GatewayAndServers } from './gateway-and-servers.ts'
import { openImports } from './import-export.ts'

/**
 * The second part of the start: the REST API, agents' files, and what only these need. It is a file of its own in the build,
 * which is loaded while the gateway is already open.
 */
export async function openRest(basics: Basics, first: GatewayAndServers): Promise<App> {
  const { config, options, closer, log, logging, audit, namedSecrets } = basics
  const { access, front, gateway, tools, observed } = first
  const { servers, httpServers, runtime } = tools
  const { auth_token_header_name: headerName, protect_reads: protectReads } = config
  const isOwner = hasToken(access.token, headerName)
  const registered = () => registeredServers(servers, httpServers, tools.programOf)
  const agents = await openAgents(basics, first, registered)
  first.later.agents = agents
  const imports = openImports(basics, first, agents, registered)
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
    jobs: tools.jobs,
    audit,
  })
  const sample = createSample({
    program: join(dirname(basics.mainFile), 'sample-server.js'),
    folder: join(basics.folder, 'sample'),
    servers,
  })
  const elicitations = new Elicitations()
  const apps = openApps(tools.upstreams)
  const app = await buildApp({
    front,
    log,
    version: VERSION,
    stream: {
      path: '/api/ws/metrics',
      ...observed.live,
      open: (socket) => observed.live.open(socket, problemIn),
    },
    token: access.token,
    headerName,
    protectReads,
    guesses: access.guesses,
    webFolder: options.webFolder,
    programName: programName({ mainFile: basics.mainFile, home: config.platform.home }),
    docsFolder: options.docsFolder,
    gatewayRoutes: MCP_ROUTES,
    pages: [loginPages(tools.logins), apps.pages],
    routes: [
      healthRoutes(observed.health, (headers) => !protectReads || isOwner(headers)),
      serverRoutes(servers, isOwner, elicitations),
      tryRoutes(createTries(tools)),
      snippetImportRoutes(imports.snippets),
      sampleRoutes(sample),
      httpServerRoutes(httpServers, isOwner, elicitations),
      oauthRoutes({ logins: tools.logins, find: (key) => httpServers.get(key) }),
      elicitationRoutes(elicitations),
      apps.routes,
      callRoutes(tools.calls.calls, isOwner),
      savedCallRoutes(tools.calls.saved),
      logRoutes(logs),
      processRoutes(processes),
      noticeRoutes(observed.notices, isOwner),
      eventRoutes(observed.events),
      redactRoutes(basics.secrets),
      exportFileRoutes(imports.exportFile, imports.files),
      liveRoutes(),
      metricsRoutes(observed.metrics),
      agentRoutes(agents, isOwner),
      agentImportRoutes(imports.agents),
      editRoutes(agents),
      packageRoutes(tools.packages, isOwner),
      isolationRoutes(isolation),
      jobRoutes(tools.jobs),
      secretRoutes(namedSecrets),
      keyRoutes(gateway.keys),
      visibilityRoutes(gateway.visibility),
      presetRoutes(gateway.presets),
      pinRoutes(tools.pins, tools.catalogues, [
        { path: '/servers', tag: 'STDIO servers', servers },
        { path: '/http-servers', tag: 'HTTP servers', servers: httpServers },
      ]),
      ...ownRoutes(basics, first),
    ],
  })
  closer.add('the app', () => app.fastify.close())
  // Reading the files of all agents blocks for a moment, so the requests that waited are answered first.
  const scan = setImmediate(() => {
    void agents
      .open()
      .then(() => observed.notices.checkAgents())
      .catch((error: unknown) => log.error({ error }, "agents' files are not watched"))
  })
  closer.add('the scan of agents', () => clearImmediate(scan))
  return app
}

/** The pages of servers that hosts show beside results. */
function openApps(upstreams: Pick<Upstreams, 'relay'>) {
  const iframes = createIframes({
    read: async (id, uri, options) =>
      upstreams.relay(id, { method: 'resources/read', params: { uri }, options }),
    now: Date.now,
  })
  return { routes: appRoutes(iframes), pages: appFramePages(iframes) }
}

/** What concerns the service itself: its settings, its token, sign-in codes, and its end. */
function ownRoutes(basics: Basics, { access, observed }: GatewayAndServers) {
  const { config, options, closer, folder, running, secrets, audit } = basics
  const { token } = access
  const codes = new LoginCodes(() => performance.now())
  const settings = createSettings({
    config,
    running,
    file: join(folder, 'config.json'),
    audit,
    onToken: (value) => {
      secrets.set('auth_token', [value, token.value]) // log lines may still contain the old one
      token.replace(value)
      codes.clear()
      if (config.protect_reads) observed.live.disconnect('the token was replaced')
    },
    shutDown: options.shutDown ?? (() => void closer.close()),
  })
  return [
    settingsRoutes(settings),
    autostartRoutes({
      state: () => stateAtLogin(config),
      install: () => installAtLogin(config, basics.mainFile),
      audit,
    }),
    loginRoutes({
      codes,
      token: () => token.value,
      now: Date.now,
      wrongCodeDelayMs: (address) => access.guesses.delayMs(address),
      audit,
    }),
  ]
}
