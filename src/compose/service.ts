import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../api/http/app.ts'
import { assertMayBind } from '../kernel/config/auth-token.ts'
import { bindOf } from '../kernel/config/bind-address.ts'
import type { Config } from '../kernel/config/config.ts'
import type { Log } from '../kernel/log.ts'
import { VERSION } from '../kernel/version.ts'
import type { Servers } from '../servers/stdio/servers.service.ts'
import { type Opened, openBasics, type ServiceOptions } from './basics.ts'
import { Closer } from './closer.ts'
import { openGatewayAndServers } from './gateway-and-servers.ts'

export interface Service extends Opened {
  readonly app: App
  /** For callers in the same process. */
  readonly servers: Servers
  readonly log: Log
  close(): Promise<void>
}

/** Loading the REST API blocks for a moment, so the calls that waited for the first server are answered before. */
const CALLS_FIRST_MS = 150
/** A server that hangs in its start does not delay the REST API, the log and the watching of agents' files for longer. */
const MOST_WAIT_MS = 1000

/**
 * Opens everything from the bottom up, and closes it in reverse. It has two parts: what agents need, and the REST API with
 * everything else. The second one begins with the first request for it, or when the first tool server has started.
 */
export async function openService(config: Config, options: ServiceOptions): Promise<Service> {
  const bind = assertMayBind(bindOf(config.host), config.host, config.auth_token)
  const closer = new Closer((name, error) => options.warn(`Closing ${name} failed: ${String(error)}`))
  try {
    const basics = await openBasics(config, options, closer, bind)
    const first = await openGatewayAndServers(basics, bind)
    const { front, address, warnings, firstStart, tools } = first
    const opened = { address, tokenFile: basics.token.file, warnings }
    if (options.onOpen) {
      options.onOpen(opened)
      const started = Promise.race([firstStart, sleep(MOST_WAIT_MS)]).then(() => sleep(CALLS_FIRST_MS))
      await Promise.race([front.requested, started])
    }
    basics.logging.startStores()
    const { openRest } = await import('./rest.ts')
    const app = await openRest(basics, first)
    const { log } = basics
    log.info({ address, version: VERSION }, 'service started')
    for (const warning of warnings) log.warn(warning)
    closer.add('the service', () => log.info('service stopping'))
    return { ...opened, app, servers: tools.servers, log, close: () => closer.close() }
  } catch (error) {
    await closer.close()
    throw error
  }
}
