import { type ImportTarget, importTarget } from '../upstreams/import-target.ts'
import { type Server, ServerInput } from './servers.schema.ts'
import type { Servers } from './servers.service.ts'
import type { StdioDefinition } from './snippet/snippet-definition.ts'

export const stdioTarget = ({ list, add, change }: Servers): ImportTarget<StdioDefinition> =>
  importTarget<Server, StdioDefinition>(
    {
      list,
      add,
      // A definition without a working folder removes the stored one.
      change: (id, revision, definition, by) => change(id, revision, { cwd: null, ...definition }, by),
    },
    ServerInput,
    ({ command, args, env, cwd }) => [command, args, Object.entries(env).sort(), cwd ?? null],
  )
