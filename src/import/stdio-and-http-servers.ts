import { AppError } from '../kernel/errors.ts'
import { type Caller, slugOf } from '../kernel/rest-parts.ts'
import { problemIn } from '../kernel/validate.ts'
import { type HttpServer, HttpServerInput } from '../servers/http/http-servers.schema.ts'
import type { HttpServers } from '../servers/http/http-servers.service.ts'
import type { References } from '../servers/shared/definition/definition-references.ts'
import { checkIsolation, DEFAULT_OPTIONS, isolationOver } from '../servers/stdio/isolation-settings.ts'
import { type Server, ServerInput } from '../servers/stdio/servers.schema.ts'
import type { Servers } from '../servers/stdio/servers.service.ts'
import type { Definition, StdioDefinition } from './translate/translate-definition-references.ts'
import { containerImport } from './translate/translate-docker-run.ts'

/** The fields of a server as the API accepts them. */
export type Fields = Readonly<Record<string, unknown>>

/** A registered server, with the fields that it can be added with. Secrets are included. */
export type KnownServer = ReturnType<typeof stdioServer> | ReturnType<typeof httpServer>

type Kind = KnownServer['type']

interface Deps {
  readonly servers: Pick<Servers, 'list' | 'add' | 'change' | 'remove' | 'stop' | 'trial'>
  readonly httpServers: Pick<HttpServers, 'list' | 'add' | 'change' | 'remove' | 'trial'>
  readonly references: References
}

/** STDIO and HTTP servers, as imports and the export use them. */
export class ServerKinds {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async list(): Promise<KnownServer[]> {
    const { servers, httpServers } = this.#deps
    return [...(await servers.list()).map(stdioServer), ...(await httpServers.list()).map(httpServer)]
  }

  /** Why the API would not accept these fields, or undefined. */
  schemaProblem(type: Kind, fields: Fields): string | undefined {
    return problemIn(type === 'stdio' ? ServerInput : HttpServerInput, fields)
  }

  /** Why the definition cannot be registered, or undefined. */
  problem(name: string, definition: Definition): string | undefined {
    const invalid = this.schemaProblem(definition.type, { name, ...definition })
    if (invalid !== undefined) return invalid
    const unusable = this.#deps.references.problemIn(definition)
    if (unusable) return `${unusable.path.slice(1)} ${unusable.message}. ${unusable.hint}`
    return definition.type === 'stdio' ? isolationProblem(definition) : undefined
  }

  async add(type: Kind, fields: Fields, by: Caller): Promise<{ readonly id: string }> {
    const { servers, httpServers } = this.#deps
    return type === 'stdio'
      ? servers.add(fields as ServerInput, by)
      : httpServers.add(fields as HttpServerInput, by)
  }

  /** Changes the given fields. The package of a server cannot be changed. */
  async change(type: Kind, id: string, given: Fields, by: Caller): Promise<unknown> {
    const { type: _, package: __, ...fields } = given
    return this.#deps[type === 'stdio' ? 'servers' : 'httpServers'].change(id, undefined, fields, by)
  }

  async remove(type: Kind, id: string, by: Caller): Promise<void> {
    await this.#deps[type === 'stdio' ? 'servers' : 'httpServers'].remove(id, by)
  }

  /** Starts it once, or connects to it once. Nothing is registered. */
  async trial(definition: Definition) {
    const { servers, httpServers } = this.#deps
    if (definition.type === 'stdio') {
      const { ok, duration_ms, tool_count, error, stderr_tail } = await servers.trial({
        ...definition,
        ...asContainer(definition),
      })
      return { ok, duration_ms, tool_count, error, stderr_tail }
    }
    const { ok, steps, tool_count, error } = await httpServers.trial(definition)
    const duration_ms = Math.round(steps.reduce((sum, { ms }) => sum + ms, 0))
    return { ok, duration_ms, tool_count, error, stderr_tail: [] }
  }

  async stop(id: string, by: Caller): Promise<void> {
    await this.#deps.servers.stop(id, by)
  }
}

/** Whether the server has this name, or the id that a server of this name would get. */
export const isNamed =
  (name: string) =>
  (server: { readonly id: string; readonly name: string }): boolean =>
    server.name === name || server.id === slugOf(name)

function stdioServer({ id, created_at: _, updated_at: __, revision: ___, ...server }: Server) {
  const { package: from, ...fields } = server
  const definition = from === null ? fields : { ...fields, package: from }
  return { id, name: server.name, type: 'stdio', definition } as const
}

function httpServer({ id, created_at: _, updated_at: __, revision: ___, ...definition }: HttpServer) {
  return { id, name: definition.name, type: 'http', definition } as const
}

/** A `docker run` becomes a container of Toolroom: a killed command would leave its container behind. */
export function asContainer(definition: StdioDefinition) {
  const run = containerImport(definition)
  if (!run?.ok || definition.isolation !== undefined) return {}
  const { isolation, isolation_options } = run.fields
  return { isolation, isolation_options: { ...isolation_options, ...definition.isolation_options } }
}

/** A dry run finds this too. */
function isolationProblem(given: Extract<Definition, { type: 'stdio' }>): string | undefined {
  const confinement = isolationOver({ isolation: 'none', isolation_options: DEFAULT_OPTIONS }, given)
  const { command, args, package: from = null } = given
  try {
    checkIsolation({ ...confinement, command, args, package: from })
    return undefined
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return error.message
  }
}
