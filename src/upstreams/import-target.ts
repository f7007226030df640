import type { TSchema } from 'typebox'
import { problemIn } from '../kernel/validate.ts'
import { type Caller, slugOf } from '../kernel/wire.ts'
import type { ServerRecord } from './server-registry.ts'

/** One kind of server as the importer of snippets uses it. `D` is a definition in a snippet. */
export interface ImportTarget<D> {
  /** Why the definition cannot be registered, or undefined. */
  problem(name: string, definition: D): string | undefined
  /** The registered server with this name. `isSame`: whether it already has the definition. */
  find(
    name: string,
  ): Promise<{ readonly id: string; readonly isSame: (definition: D) => boolean } | undefined>
  add(name: string, definition: D, by: Caller): Promise<{ readonly id: string }>
  change(id: string, definition: D, by: Caller): Promise<{ readonly id: string }>
}

interface Servers<S, D> {
  list(): Promise<S[]>
  add(input: D & { name: string }, by: Caller): Promise<S>
  change(id: string, revision: undefined, definition: Omit<D, 'type'>, by: Caller): Promise<S>
}

/** `contentOf` returns the values that make two definitions equal. */
export function importTarget<S extends ServerRecord, D extends { readonly type: string }>(
  servers: Servers<S, D>,
  Input: TSchema,
  contentOf: (definition: S | D) => unknown,
): ImportTarget<D> {
  return {
    problem: (name, definition) => problemIn(Input, { name, ...definition }),
    find: async (name) => {
      const server = (await servers.list()).find((each) => each.name === name || each.id === slugOf(name))
      const content = server && JSON.stringify(contentOf(server))
      return server && { id: server.id, isSame: (given) => JSON.stringify(contentOf(given)) === content }
    },
    add: (name, definition, by) => servers.add({ name, ...definition }, by),
    change: (id, { type: _, ...definition }, by) => servers.change(id, undefined, definition, by),
  }
}
