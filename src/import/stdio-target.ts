import type { Caller } from '../kernel/wire.ts'
import type { References } from '../servers/shared/definition/references.ts'
import { checkIsolation, DEFAULT_OPTIONS, isolationOver } from '../servers/stdio/isolation.ts'
import { type Server, ServerInput } from '../servers/stdio/servers.schema.ts'
import type { Servers } from '../servers/stdio/servers.service.ts'
import { type AddOptions, type ImportTarget, importTarget } from './import-target.ts'
import { containerImport } from './options/container-run.ts'
import type { StdioDefinition } from './read/snippet/snippet-definition.ts'

export function stdioTarget(servers: Servers, references: References): ImportTarget<StdioDefinition> {
  const target = importTarget<Server, StdioDefinition>(
    {
      list: servers.list,
      add: (input, options, by) => addImported(servers, input, options, by),
      // A definition without a working folder removes the stored one.
      change: (id, revision, definition, by) =>
        servers.change(id, revision, { cwd: null, ...definition }, by),
    },
    ServerInput,
    references,
    (server, definition) =>
      contentOf(server) === contentOf(definition) && hasSameIsolation(server, definition),
  )
  return {
    ...target,
    problem: (name, definition) => {
      const problem = target.problem(name, definition)
      if (problem === undefined) checkGivenIsolation(definition)
      return problem
    },
  }
}

const contentOf = ({ command, args, env, cwd }: Server | StdioDefinition): string =>
  JSON.stringify([command, args, Object.entries(env).sort(), cwd ?? null])

/** Isolation that is not given is no difference. */
function hasSameIsolation(server: Server, given: StdioDefinition): boolean {
  const { isolation, isolation_options } = server
  return JSON.stringify(isolationOver(server, given)) === JSON.stringify({ isolation, isolation_options })
}

/** Throws an AppError. A dry run finds this too. */
function checkGivenIsolation(given: StdioDefinition): void {
  const confinement = isolationOver({ isolation: 'none', isolation_options: DEFAULT_OPTIONS }, given)
  checkIsolation({ ...confinement, command: given.command, args: given.args, package: given.package ?? null })
}

/**
 * A `docker run` becomes a container of Toolroom: a killed command would leave its container behind. A server that is off
 * where it was found is stopped, as a person would stop it.
 */
export async function addImported(
  servers: Pick<Servers, 'add' | 'stop'>,
  input: ServerInput,
  { start_mode, enabled }: AddOptions,
  by: Caller,
): Promise<Server> {
  const run = containerImport(input)
  const isContainer = run?.ok && input.isolation === undefined
  const given = input.isolation_options
  const confinement = isContainer
    ? { ...run.fields, isolation_options: { ...run.fields.isolation_options, ...given } }
    : {}
  const server = await servers.add({ ...input, ...confinement, ...(start_mode && { start_mode }) }, by)
  return enabled ? server : servers.stop(server.id, by)
}
