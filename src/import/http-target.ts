import { type HttpServer, HttpServerInput } from '../servers/http/http-servers.schema.ts'
import type { HttpServers } from '../servers/http/http-servers.service.ts'
import type { References } from '../servers/shared/definition/references.ts'
import { importTarget } from './import-target.ts'

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
