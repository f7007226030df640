import { VERSION } from '../kernel/version.ts'
import { HttpMcpClient } from '../mcp/transports/http/http-mcp-client.ts'
import { testConnection } from '../mcp/transports/http/test-connection.ts'
import type { Network } from '../net/connection-pool.ts'
import type { Remotes } from '../servers/http/remote.ts'

/** Opens and tests connections to HTTP servers. */
export function openRemotes(network: Partial<Network>): Remotes {
  return {
    test: ({ url, headers, transport }, authorizer) =>
      testConnection({ url, headers, transport, network, authorizer, version: VERSION }),
    open: ({ url, headers, transport }, { known, authorizer }, { onDiscovered, ...events }) =>
      new HttpMcpClient({
        url,
        headers,
        transport,
        known,
        network,
        authorizer,
        version: VERSION,
        ...events,
        onTools: (list, { era: _, ...handshake }, used) => {
          if (used !== 'stdio') onDiscovered({ ...handshake, transport: used, ...list })
        },
      }),
  }
}
