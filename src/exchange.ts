import { createDoor } from './gateway/door.ts'
import { createGateway } from './gateway/gateway.service.ts'
import type { Keys } from './gateway/keys.service.ts'
import type { HttpServers } from './http-servers/http-servers.service.ts'
import type { Catalogues } from './kernel/catalogue.ts'
import { AppError } from './kernel/errors.ts'
import type { FactBus } from './kernel/facts.ts'
import type { Log } from './kernel/log.ts'
import { VERSION } from './kernel/version.ts'
import type { Servers } from './servers/servers.service.ts'

interface Parts {
  readonly facts: FactBus
  readonly log: Log
  readonly keys: Keys
  readonly headerName: string
  readonly catalogues: Catalogues
  readonly servers: Pick<Servers, 'states' | 'call' | 'relay'>
  readonly httpServers: Pick<HttpServers, 'states' | 'call' | 'relay'>
}

/** The gateway, with the servers of both kinds behind its back. */
export function openGateway({ facts, log, keys, headerName, catalogues, servers, httpServers }: Parts) {
  const stdio = () => servers.states().map(({ server_id }) => server_id)
  const http = () =>
    httpServers
      .states()
      .filter(({ status }) => status !== 'disabled')
      .map(({ server_id }) => server_id)
  const gateway = createGateway({
    version: VERSION,
    offered: () => [...stdio(), ...http()].map((id) => ({ id, tools: catalogues.of(id)?.tools ?? [] })),
    capabilitiesOf: (id) => catalogues.of(id)?.capabilities ?? {},
    relay: (id, asked) => (stdio().includes(id) ? servers.relay(id, asked) : httpServers.relay(id, asked)),
    call: (id, asked) => {
      if (stdio().includes(id)) return servers.call(id, asked)
      if (http().includes(id)) return httpServers.call(id, asked)
      throw new AppError('not_found', `There is no server '${id}'`)
    },
  })
  return createDoor({
    gateway,
    keys,
    facts,
    headerName,
    now: Date.now,
    onError: (error) => log.error({ error }, 'the gateway failed'),
  })
}
