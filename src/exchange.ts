import { createDoor } from './gateway/door.ts'
import { createGateway } from './gateway/gateway.service.ts'
import { keyRoutes } from './gateway/keys.routes.ts'
import { createKeys } from './gateway/keys.service.ts'
import type { HttpServers } from './http-servers/http-servers.service.ts'
import type { Catalogues } from './kernel/catalogue.ts'
import type { FactBus } from './kernel/facts.ts'
import type { Log } from './kernel/log.ts'
import { VERSION } from './kernel/version.ts'
import type { Servers } from './servers/servers.service.ts'
import type { ConfigurationDatabase } from './store/configuration.ts'
import { openKeyStore } from './store/keys.store.ts'

interface Parts {
  readonly database: ConfigurationDatabase
  readonly facts: FactBus
  readonly log: Log
  readonly headerName: string
  readonly catalogues: Catalogues
  readonly servers: Pick<Servers, 'states' | 'has' | 'call' | 'relay'>
  readonly httpServers: Pick<HttpServers, 'states' | 'call' | 'relay'>
}

/** The gateway, with the servers of both kinds behind its back, and the keys that open it. */
export async function openExchange(parts: Parts) {
  const { database, facts, log, headerName, catalogues, servers, httpServers } = parts
  const keys = createKeys({
    store: await openKeyStore(database),
    now: Date.now,
    onTrouble: (error) => log.warn({ error }, 'the last use of a key could not be kept'),
  })
  const http = () => httpServers.states().filter(({ status }) => status !== 'disabled')
  const kindOf = (id: string) => (servers.has(id) ? servers : httpServers)
  const gateway = createGateway({
    version: VERSION,
    offered: () =>
      [...servers.states(), ...http()].map(({ server_id: id }) => {
        return { id, tools: catalogues.of(id)?.tools ?? [] }
      }),
    capabilitiesOf: (id) => catalogues.of(id)?.capabilities ?? {},
    relay: (id, asked) => kindOf(id).relay(id, asked),
    call: (id, asked) => kindOf(id).call(id, asked),
  })
  const door = createDoor({
    gateway,
    keys,
    facts,
    headerName,
    now: Date.now,
    onError: (error) => log.error({ error }, 'the gateway failed'),
  })
  return { keys, door, routes: [keyRoutes(keys)] }
}
