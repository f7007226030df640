import { findAgent } from '../agents/catalogue/catalogue.ts'
import { logCalls } from '../gateway/call-log.ts'
import { Offers } from '../gateway/catalogue/offers.ts'
import { createDoor } from '../gateway/endpoint/mcp-endpoint.ts'
import { createGateway } from '../gateway/endpoint/request-handler.ts'
import { keyRoutes } from '../gateway/keys/keys.routes.ts'
import { createKeys } from '../gateway/keys/keys.service.ts'
import { pinRoutes } from '../gateway/pins/pins.routes.ts'
import type { Pins } from '../gateway/pins/pins.ts'
import { visibilityRoutes } from '../gateway/visibility/visibility.routes.ts'
import { createVisibility } from '../gateway/visibility/visibility.service.ts'
import type { HttpServers } from '../http-servers/http-servers.service.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import { VERSION } from '../kernel/version.ts'
import type { Servers } from '../servers/servers.service.ts'
import { openAgentToolsStore } from '../store/agent-tools.store.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { openKeyStore } from '../store/keys.store.ts'
import type { Catalogues } from '../upstreams/catalogues.ts'
import { OFFER_DEFAULTS, type OfferSettings } from '../upstreams/server-fields.ts'

interface Parts {
  readonly database: ConfigurationDatabase
  readonly facts: FactBus
  readonly log: Log
  readonly headerName: string
  readonly catalogues: Catalogues
  readonly pins: Pins
  /** What is stored of a server, as it is now. */
  readonly record: (id: string) => OfferSettings | undefined
  readonly servers: Pick<Servers, 'states' | 'has' | 'get' | 'tools' | 'call' | 'relay' | 'meet'>
  readonly httpServers: Pick<HttpServers, 'states' | 'get' | 'tools' | 'call' | 'relay'>
}

/** The gateway, with the servers of both kinds behind its back, and the keys that open it. */
export async function openExchange(parts: Parts) {
  const { database, facts, log, headerName, catalogues, pins, record, servers, httpServers } = parts
  const keys = createKeys({
    store: await openKeyStore(database),
    now: Date.now,
    onTrouble: (error) => log.warn({ error }, 'the last use of a key could not be kept'),
  })
  const http = () => httpServers.states().filter(({ status }) => status !== 'disabled')
  const kindOf = (id: string) => (servers.has(id) ? servers : httpServers)
  const agentTools = await openAgentToolsStore(database)
  const offered = () =>
    [...servers.states(), ...http()].map(({ server_id: id }) => {
      return { id, tools: catalogues.of(id)?.tools ?? [], settings: record(id) ?? OFFER_DEFAULTS }
    })
  const offers = new Offers(offered, agentTools.of, (id, definition) => pins.isHeld(id, definition))
  const hasKey = (agentType: string) => keys.list().some(({ agent_type }) => agent_type === agentType)
  const visibility = createVisibility({
    store: agentTools,
    offers,
    facts,
    typeOf: (word) => (hasKey(word) ? word : findAgent(word)?.type),
    hasServer: (id) => record(id) !== undefined,
  })
  const admitting = (id: string, tool: string) => () =>
    pins.refuseHeld(id, tool, catalogues.of(id)?.tools ?? [])
  const gateway = createGateway({
    version: VERSION,
    offers,
    catalogueOf: (id) => catalogues.of(id),
    meet: (ids) => servers.meet(ids),
    isAwake: (id) => isAwake(servers.has(id) ? servers : httpServers, id),
    relay: (id, asked) => kindOf(id).relay(id, asked),
    call: (id, asked) =>
      kindOf(id).call(id, pins.hold ? { ...asked, admit: admitting(id, asked.tool) } : asked),
  })
  const door = createDoor({
    gateway,
    keys,
    facts,
    headerName,
    now: Date.now,
    onError: (error) => log.error({ error }, 'the gateway failed'),
    log,
  })
  logCalls(facts, log)
  return {
    keys,
    door,
    /** What the tools of a server are called at the gateway, by their own names. */
    namesOf: (serverId: string) => offers.namesOf(serverId),
    /** What its list of tools takes of an agent's context; null for one that has no key. */
    contextTokens: (agentType: string) => (hasKey(agentType) ? visibility.tokensOf(agentType) : null),
    routes: [
      keyRoutes(keys),
      visibilityRoutes(visibility),
      pinRoutes(pins, catalogues, [
        { path: '/servers', tag: 'STDIO servers', servers },
        { path: '/http-servers', tag: 'HTTP servers', servers: httpServers },
      ]),
    ],
  }
}

/** What runs, or is reached when somebody asks it. */
function isAwake({ states }: Pick<Servers | HttpServers, 'states'>, id: string): boolean {
  const status = states().find(({ server_id }) => server_id === id)?.status
  return status !== undefined && ['running', 'connected', 'unknown', 'degraded'].includes(status)
}
