import { setImmediate as turn } from 'node:timers/promises'
import type { Agents } from '../agents/agents.service.ts'
import { AccessToken, Guesses } from '../api/http/auth.ts'
import { EarlyListener } from '../api/http/early-listener.ts'
import { LaterRoute } from '../api/http/listener.ts'
import { isMcpPath } from '../gateway/messages/incoming-message.ts'
import { exposure, hostNamesOf } from '../kernel/config/bind-address.ts'
import { redactText } from '../kernel/secrets/known-secrets.ts'
import { probePort } from '../net/probe-port.ts'
import type { HttpServers } from '../servers/http/http-servers.service.ts'
import type { Jobs } from '../servers/jobs/jobs.ts'
import { PackageFolders } from '../servers/packages/package-folders.ts'
import { chooseBin, findPackage, installedPrograms } from '../servers/packages/package-program.ts'
import type { Packages } from '../servers/packages/packages.service.ts'
import { Tries } from '../servers/shared/tries.ts'
import { Upstreams } from '../servers/shared/upstreams.ts'
import { Servers } from '../servers/stdio/servers.service.ts'
import { openDesiredStates } from '../store/desired-states.store.ts'
import { openPackageStore } from '../store/packages.store.ts'
import { tryStore } from '../store/tries.store.ts'
import { thisPlatform } from '../supervisor/platform/this-platform.ts'
import type { Basics } from './basics.ts'
import { openCatalogues, openGateway } from './gateway.ts'
import { openCalls, openEvents, openMetrics, openNotices } from './observe.ts'
import { openRuntime } from './stdio-runtime.ts'

export type GatewayAndServers = Awaited<ReturnType<typeof openGatewayAndServers>>

const NO_AGENTS: readonly string[] = []
const HAS_STARTED: readonly string[] = ['running', 'backoff', 'failed']

/**
 * The first part of the start: the port, the gateway and the tool servers, and what records their calls and states. Agents
 * need nothing else. The servers start when the port is open: if it is taken, none does.
 */
export async function openGatewayAndServers(
  basics: Basics,
  bind: { readonly address: string; readonly loopback: boolean },
) {
  const { config, options, closer, folder, facts, logging, log, database, stores, references, token } = basics
  /** What is opened later. Until agents' files are, no server is known to be in one. */
  const later: { agents?: Agents; packages?: Packages; jobs?: Jobs; httpServers?: HttpServers } = {}
  const platform = options.platform ?? thisPlatform
  const exposed = exposure(bind.loopback, config.protect_reads)
  const warnings = [...config.warnings, ...token.warnings, ...exposed, ...platform.warnings]
  const upstreams = new Upstreams()
  const { catalogues, pins } = await openCatalogues(basics)
  const calls = await openCalls(basics, upstreams)
  const access = { token: new AccessToken(token.value), guesses: openGuesses(basics) }
  const gateway = await openGateway(basics, { access, catalogues, pins, upstreams, calls: calls.recorder })
  const { metrics, live } = openMetrics(basics, { upstreams, contextTokens: gateway.contextTokens })

  // Tool servers.
  const runtime = await openRuntime(basics, { platform, catalogues, isWatched: () => live.hasClients() })
  closer.add('the tool servers', () => runtime.close())
  const packageStore = await openPackageStore(database)
  const packageFolders = new PackageFolders(folder)
  packageFolders.cleanUp(packageStore.all())
  const programOf = installedPrograms(packageStore, packageFolders)
  const tries = await openTries(basics)
  const registry = {
    facts,
    secrets: basics.secrets,
    log,
    audit: basics.audit,
    now: Date.now,
    upstreams,
    catalogues,
    references,
    tries,
    calls: calls.recorder,
    statsOf: metrics.statsOf,
    gatewayNames: gateway.namesOf,
    adding: gateway.visibility.adding,
    usedBy: (id: string) => later.agents?.usedBy(id) ?? NO_AGENTS,
  }
  const servers: Servers = new Servers({
    ...registry,
    store: stores.stdio,
    desiredStates: await openDesiredStates(database),
    engine: runtime.engine,
    instances: runtime.instances,
    findProgram: runtime.findProgram,
    findProgramNow: runtime.findProgramNow,
    containerProblem: (...about) => runtime.places.containerProblem(...about),
    shellPath: runtime.shellPath,
    placeAbilities: () => runtime.places.abilities(),
    probe: probePort,
    tryOut: runtime.tryOut,
    ownFolders: [folder, config.folders.config],
    defaultIsolation: config.default_isolation,
    linesDropped: (id) => logging.serverLines.dropped(id),
    packages: {
      programOf,
      versionOf: (name) => packageStore.all().find((each) => each.name === name)?.current.version ?? null,
      binOf: (name, wanted) => chooseBin(findPackage(packageStore.all(), name), wanted),
    },
  })
  closer.add('the jobs', () => later.jobs?.close())
  const mcpRoute = new LaterRoute(isMcpPath)
  const front = new EarlyListener({
    allowedHosts: hostNamesOf(config),
    gateway: mcpRoute,
    readsPlain: config.platform.env.PLAIN_HTTP !== 'off',
  })
  closer.add('the HTTP servers', () => later.httpServers?.close())
  closer.add('the agents', () => later.agents?.close())
  await servers.load()
  const { notices, health } = await openNotices(basics, {
    upstreams,
    catalogues,
    packages: () => later.packages,
    agents: { fileTroubles: (agentType) => later.agents?.fileTroubles(agentType) ?? [] },
    runtime,
    warnings,
    token: access.token,
  })
  closer.add('the HTTP listener and the tool servers', () => Promise.all([front.close(), runtime.close()]))
  closer.add('the live stream', () => live.close())
  closer.add('the gateway', () => gateway.gateway.close())
  const events = openEvents(basics, notices) // closed first: that all servers stop with Toolroom is no event

  await front.listen(bind.address, config.port)
  const firstStart = startServers(basics, servers)
  await turn() // the first process starts
  basics.lock.announce(front.address(bind.address))
  // Loaded while the processes of the servers start. Agents' requests wait, so that they see every server.
  const [{ openHttpServers }, { openPackages }] = await Promise.all([
    import('./http-servers.ts'),
    import('./packages.ts'),
  ])
  const { packages, jobs } = openPackages(basics, {
    store: packageStore,
    folders: packageFolders,
    engine: runtime,
    servers,
  })
  const { httpServers, logins } = await openHttpServers(basics, { ...registry, port: () => front.port })
  Object.assign(later, { jobs, httpServers })
  await httpServers.load()
  later.packages = packages
  mcpRoute.open(gateway.gateway)
  return {
    later,
    access,
    front,
    address: front.address(bind.address),
    warnings: [...warnings, ...basics.repairs],
    gateway,
    tools: {
      upstreams,
      catalogues,
      pins,
      calls,
      servers,
      httpServers,
      logins,
      packages,
      programOf,
      jobs,
      runtime,
    },
    observed: { metrics, live, notices, health, events },
    firstStart,
  }
}

/** How servers were last started. Closed after them. */
async function openTries({ database, vault, table, secrets, log, closer }: Basics): Promise<Tries> {
  const tries = await Tries.open({
    store: tryStore(database, vault, table),
    redact: (text) => redactText(text, secrets),
    now: Date.now,
    onError: (error) => log.warn({ error }, 'how servers were started could not be saved'),
  })
  closer.add('the tries of servers', () => tries.save())
  return tries
}

/** Starts the servers that run from the beginning. Resolves when the first of them has started or failed. */
function startServers({ options, facts, log }: Basics, servers: Servers): Promise<void> {
  return new Promise((resolve) => {
    const end = facts.on('server_status', ({ state }) => {
      if (HAS_STARTED.includes(state.status)) resolve()
    })
    const all = options.withoutServers ? Promise.resolve() : servers.startWithToolroom()
    void all
      .catch((error: unknown) => log.error({ error }, 'servers could not be started'))
      .finally(() => {
        end()
        resolve()
      })
  })
}

/** Counts wrong tokens, gateway keys and sign-in codes, and audits an address that keeps sending them. */
function openGuesses({ audit, log }: Basics): Guesses {
  const note = 'more than 10 wrong tokens, gateway keys or login codes within a minute; answers are delayed'
  return new Guesses((address) => {
    const entry = { action: 'token_guessing', subject: address, request_id: null, detail: { address, note } }
    void audit(entry).catch((error: unknown) => log.error({ error }, 'audit failed'))
  })
}
