import { VERSION } from '../kernel/version.ts'
import { HttpMcpClient } from '../mcp/transports/http/http-mcp-client.ts'
import { testConnection } from '../mcp/transports/http/test-connection.ts'
import type { Network } from '../net/connection-pool.ts'
import { proxyFromEnvironment } from '../net/proxy.ts'
import { HttpServers } from '../servers/http/http-servers.service.ts'
import { Logins } from '../servers/logins/logins.ts'
import { openLoginStore } from '../store/logins.store.ts'
import type { Basics } from './basics.ts'

type HttpServersDeps = ConstructorParameters<typeof HttpServers>[0]

interface Deps
  extends Omit<
    HttpServersDeps,
    'store' | 'openClient' | 'testConnection' | 'logins' | 'intervalMs' | 'random'
  > {
  /** The service's own port, once it listens. */
  readonly port: () => number
}

/** The HTTP servers, and the logins at them. */
export async function openHttpServers(basics: Basics, { port, ...deps }: Deps) {
  const { config, stores } = basics
  const network = { proxyFor: proxyFromEnvironment(config.platform.env) }
  const logins = await openLogins(basics, network, port, () => httpServers)
  const httpServers: HttpServers = new HttpServers({
    ...deps,
    store: stores.http,
    openClient: (options) => new HttpMcpClient({ version: VERSION, network, ...options }),
    testConnection: (options) => testConnection({ version: VERSION, network, ...options }),
    logins,
    intervalMs: config.http_check_interval_s * 1000,
    random: Math.random,
  })
  return { httpServers, logins }
}

async function openLogins(
  { config, database, vault, facts, secrets, log, audit }: Basics,
  network: Partial<Network>,
  port: () => number,
  httpServers: () => HttpServers,
): Promise<Logins> {
  const { public_url: publicUrl = null, oauth_client_metadata_url: clientMetadataUrl = null } = config
  return new Logins({
    facts,
    secrets,
    audit,
    network,
    address: () => `http://127.0.0.1:${port()}`,
    store: await openLoginStore(database, vault),
    version: VERSION,
    now: Date.now,
    ownOrigins: () => [
      ...['127.0.0.1', 'localhost', '[::1]'].map((host) => `http://${host}:${port()}`),
      ...(publicUrl === null ? [] : [new URL(publicUrl).origin]),
    ],
    publicUrl: () => publicUrl,
    clientMetadataUrl: () => clientMetadataUrl,
    server: (key) => httpServers().loginServer(key),
    stored: (id) => httpServers().storedLogin(id),
    connect: (id) => httpServers().connectAfterLogin(id),
    warn: (details, message) => log.warn({ ...details }, message),
  })
}
