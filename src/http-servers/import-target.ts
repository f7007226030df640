import { importTarget } from '../upstreams/import-target.ts'
import { type HttpServer, HttpServerInput } from './http-servers.schema.ts'
import type { HttpServers } from './http-servers.service.ts'

type Definition = Pick<HttpServer, 'url' | 'transport'> & { type: 'http'; headers: Record<string, string> }

export const httpTarget = (servers: HttpServers) =>
  importTarget<HttpServer, Definition>(servers, HttpServerInput, ({ url, transport, headers }) => [
    url,
    transport,
    Object.entries(headers).sort(),
  ])
