import { AppError } from '../kernel/errors.ts'
import { type Caller, slugOf } from '../kernel/rest-parts.ts'
import { problemIn } from '../kernel/validate.ts'
import { type HttpServer, HttpServerInput } from '../servers/http/http-servers.schema.ts'
import type { HttpServers } from '../servers/http/http-servers.service.ts'
import {
  type AllowOutgoing,
  type Allows,
  allowedIn,
  isSameOutgoing,
  namedOutgoing,
  type Outgoing,
  outgoingOf,
  type Permitted,
} from '../servers/shared/definition/outgoing.ts'
import type { References } from '../servers/shared/definition/resolved-references.ts'
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

  /** Others have written the fields: the server gets only what `allows`. */
  async add(type: Kind, fields: Fields, by: Caller, allows: Allows): Promise<{ readonly id: string }> {
    const { servers, httpServers } = this.#deps
    return type === 'stdio'
      ? servers.add(fields as ServerInput, by, allows)
      : httpServers.add(fields as HttpServerInput, by, allows)
  }

  /** Changes the given fields, which others have written. The package of a server cannot be changed. */
  async change(type: Kind, id: string, given: Fields, by: Caller, allows: Allows): Promise<unknown> {
    const { type: _, package: __, ...fields } = given
    return this.#deps[type === 'stdio' ? 'servers' : 'httpServers'].change(id, undefined, fields, by, allows)
  }

  /** Allows what was shown of a server that is registered already. */
  async allow(id: string | null, items: AllowOutgoing = [], by: Caller): Promise<void> {
    const known = items.length === 0 ? undefined : (await this.list()).find((each) => each.id === id)
    if (!known) return
    const { type, outgoing } = known
    const isNamed = (one: Outgoing) => items.some((item) => isSameOutgoing(one, item))
    const allow_outgoing = outgoing.filter((each) => !each.allowed && isNamed(each)).map(namedOutgoing)
    if (allow_outgoing.length === 0) return
    const update = { allow_outgoing }
    await this.#deps[type === 'stdio' ? 'servers' : 'httpServers'].change(known.id, undefined, update, by)
  }

  /** What a registered server gets. Undefined if there is none. */
  async outgoing(id: string | null): Promise<readonly Outgoing[] | undefined> {
    return id === null ? undefined : (await this.list()).find((each) => each.id === id)?.outgoing
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

function stdioServer(server: Server) {
  const { id, created_at: _, updated_at: __, revision: ___, outgoing_allowed: ____, ...rest } = server
  const { package: from, ...fields } = rest
  const definition = from === null ? fields : { ...fields, package: from }
  return { id, name: server.name, type: 'stdio', definition, ...permissionOf(server) } as const
}

function httpServer(server: HttpServer) {
  const { id, created_at: _, updated_at: __, revision: ___, outgoing_allowed: ____, ...definition } = server
  return { id, name: server.name, type: 'http', definition, ...permissionOf(server) } as const
}

/** What it gets, and whether it was allowed. */
const permissionOf = (server: Permitted) => ({ outgoing: outgoingOf(server), allows: allowedIn(server) })

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
