import { problemIn } from '../kernel/validate.ts'
import { type Caller, slugOf } from '../kernel/wire.ts'
import type { Deps } from './import.service.ts'
import { type Server, ServerInput } from './servers.schema.ts'
import type { Servers } from './servers.service.ts'

/** How an imported STDIO server is registered. */
export function stdioTarget(servers: Servers): Deps['stdio'] {
  return {
    problem: (name, definition) => problemIn(ServerInput, { name, ...definition }),
    find: async (name) => {
      const server = (await servers.list()).find((each) => each.name === name || each.id === slugOf(name))
      return server && { id: server.id, same: (definition) => isSame(server, definition) }
    },
    add: (name, definition, by: Caller) => servers.add({ name, ...definition }, by),
    change: (id, { type: _, ...definition }, by) =>
      servers.change(id, undefined, { cwd: null, ...definition }, by),
  }
}

type Definition = Parameters<Deps['stdio']['problem']>[1]

function isSame({ command, args, env, cwd }: Server, definition: Definition): boolean {
  const shape = (s: {
    command: string
    args: readonly string[]
    env: object
    cwd?: string | null | undefined
  }) => JSON.stringify([s.command, s.args, Object.entries(s.env).sort(), s.cwd ?? null])
  return shape({ command, args, env, cwd }) === shape(definition)
}
