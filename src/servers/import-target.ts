import type { Caller } from '../kernel/wire.ts'
import { containerImport } from '../upstreams/import/container-run.ts'
import { type AddOptions, type ImportTarget, importTarget } from '../upstreams/import-target.ts'
import type { References } from '../upstreams/references.ts'
import { type Server, ServerInput } from './servers.schema.ts'
import type { Servers } from './servers.service.ts'
import type { StdioDefinition } from './snippet/snippet-definition.ts'

export const stdioTarget = (servers: Servers, references: References): ImportTarget<StdioDefinition> =>
  importTarget<Server, StdioDefinition>(
    {
      list: servers.list,
      add: (input, options, by) => addImported(servers, input, options, by),
      // A definition without a working folder removes the stored one.
      change: (id, revision, definition, by) =>
        servers.change(id, revision, { cwd: null, ...definition }, by),
    },
    ServerInput,
    references,
    ({ command, args, env, cwd }) => [command, args, Object.entries(env).sort(), cwd ?? null],
  )

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
  const isolation = run?.ok && input.isolation === undefined ? run.fields : {}
  const server = await servers.add({ ...input, ...isolation, ...(start_mode && { start_mode }) }, by)
  return enabled ? server : servers.stop(server.id, by)
}
