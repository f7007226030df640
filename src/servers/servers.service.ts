import type { FactBus } from '../kernel/facts.ts'
import type { KnownSecrets } from '../kernel/known-secrets.ts'
import { memo } from '../kernel/memo.ts'
import { createRegistry, type ServerStore } from '../kernel/registry.ts'
import { maskArgs, maskValues } from '../kernel/secrets.ts'
import { isoTime } from '../kernel/time.ts'
import type { Caller } from '../kernel/wire.ts'
import { keepMaskedArgs, keepMaskedValues } from '../kernel/write-back.ts'
import type { Server, ServerInput, ServerPatch, ServerView } from './servers.schema.ts'

/** What this room needs from the house. `store/` provides it, `service.ts` plugs it in. */
export interface Deps {
  readonly store: ServerStore<Server>
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly now: () => number
}

export function createServers(deps: Deps) {
  const registry = createRegistry({ ...deps, kind: 'stdio', noun: 'STDIO server', shown: viewOf })

  return {
    list: registry.list,
    get: registry.get,
    remove: registry.remove,
    rememberSecrets: registry.rememberSecrets,

    add({ type: _, ...input }: ServerInput, by: Caller): Promise<Server> {
      const { env = {}, args = [], cwd = null, description = null, tags = [] } = input
      const kept = { env: keepMaskedValues('env', env, {}), args: keepMaskedArgs(args, []) }
      return registry.add({ name: input.name, command: input.command, ...kept, cwd, description, tags }, by)
    },

    change(
      key: string,
      revision: number | 'unknown' | undefined,
      patch: ServerPatch,
      by: Caller,
    ): Promise<Server> {
      const edit = (current: Server): Partial<Server> => ({
        ...patch,
        ...(patch.env && { env: keepMaskedValues('env', patch.env, current.env) }),
        ...(patch.args && { args: keepMaskedArgs(patch.args, current.args) }),
      })
      return registry.change(key, revision, edit, by)
    },
  }
}
export type Servers = ReturnType<typeof createServers>

/** A server as anybody may see it. */
export const viewOf = memo((server: Server): ServerView => {
  const { id, name, command, args, env, cwd, description, tags, revision } = server
  const times = { created_at: isoTime(server.created_at), updated_at: isoTime(server.updated_at) }
  const shown = { args: maskArgs(args), env: maskValues(env), cwd, description, tags: [...tags] }
  return { id, type: 'stdio', name, command, ...shown, ...times, revision }
})
