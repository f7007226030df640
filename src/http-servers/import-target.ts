import { importTarget } from '../upstreams/import-target.ts'
import type { References } from '../upstreams/references.ts'
import { type HttpServer, HttpServerInput } from './http-servers.schema.ts'
import type { HttpServers } from './http-servers.service.ts'

type Definition = Pick<HttpServer, 'url' | 'transport'> & { type: 'http'; headers: Record<string, string> }

export const httpTarget = ({ list, add, change }: HttpServers, references: References) =>
  importTarget<HttpServer, Definition>(
    { list, add: (input, { enabled }, by) => add({ ...input, enabled }, by), change },
    HttpServerInput,
    references,
    (server, definition) => contentOf(server) === contentOf(definition),
  )

const contentOf = ({ url, transport, headers }: HttpServer | Definition): string =>
  JSON.stringify([url, transport, Object.entries(headers).sort()])
