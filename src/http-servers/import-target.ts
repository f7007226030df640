import { problemIn } from '../kernel/validate.ts'
import { type Caller, slugOf } from '../kernel/wire.ts'
import { type HttpServer, HttpServerInput } from './http-servers.schema.ts'
import type { HttpServers } from './http-servers.service.ts'

type Definition = Pick<HttpServer, 'url' | 'transport'> & { type: 'http'; headers: Record<string, string> }

/** How an imported HTTP server is registered. */
export function httpTarget(servers: HttpServers) {
  return {
    problem: (name: string, definition: Definition) => problemIn(HttpServerInput, { name, ...definition }),
    find: async (name: string) => {
      const server = (await servers.list()).find((each) => each.name === name || each.id === slugOf(name))
      return server && { id: server.id, same: (definition: Definition) => isSame(server, definition) }
    },
    add: (name: string, definition: Definition, by: Caller) => servers.add({ name, ...definition }, by),
    change: (id: string, { type: _, ...definition }: Definition, by: Caller) =>
      servers.change(id, undefined, definition, by),
  }
}

function isSame(server: HttpServer, definition: Definition): boolean {
  const shape = ({ url, transport, headers }: Pick<HttpServer, 'url' | 'transport' | 'headers'>) =>
    JSON.stringify([url, transport, Object.entries(headers).sort()])
  return shape(server) === shape(definition)
}
