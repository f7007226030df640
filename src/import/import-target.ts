import type { TSchema } from 'typebox'
import type { Carrier } from '../kernel/secrets/secrets.ts'
import { problemIn } from '../kernel/validate.ts'
import { type Caller, slugOf } from '../kernel/wire.ts'
import type { References } from '../servers/shared/definition/references.ts'
import type { ServerRecord } from '../servers/shared/server-registry.ts'
import type { ImportOptions } from './options/import-fields.ts'

/** How an imported server is added. */
export interface AddOptions {
  readonly start_mode: ImportOptions['start_mode'] | undefined
  /** False: it stays off until a user starts or enables it. */
  readonly enabled: boolean
}

/** One kind of server as the importer of snippets uses it. `D` is a definition in a snippet. */
export interface ImportTarget<D> {
  /** Why the definition cannot be registered, or undefined. */
  problem(name: string, definition: D): string | undefined
  /** The registered server with this name. `isSame`: whether it already has the definition. */
  find(
    name: string,
  ): Promise<{ readonly id: string; readonly isSame: (definition: D) => boolean } | undefined>
  add(name: string, definition: D, options: AddOptions, by: Caller): Promise<{ readonly id: string }>
  change(id: string, definition: D, by: Caller): Promise<{ readonly id: string }>
}

interface Servers<S, D> {
  list(): Promise<S[]>
  add(input: D & { name: string }, options: AddOptions, by: Caller): Promise<S>
  change(id: string, revision: undefined, definition: Omit<D, 'type'>, by: Caller): Promise<S>
}

/** `isSame`: whether the server already has the definition. */
export function importTarget<S extends ServerRecord, D extends { readonly type: string }>(
  servers: Servers<S, D>,
  Input: TSchema,
  references: References,
  isSame: (server: S, definition: D) => boolean,
): ImportTarget<D> {
  return {
    problem: (name, definition) => {
      const unusable = references.problemIn(definition as Carrier)
      const text = unusable && `${unusable.path.slice(1)} ${unusable.message}. ${unusable.hint}`
      return problemIn(Input, { name, ...definition }) ?? text
    },
    find: async (name) => {
      const server = (await servers.list()).find((each) => each.name === name || each.id === slugOf(name))
      return server && { id: server.id, isSame: (definition) => isSame(server, definition) }
    },
    add: (name, definition, options, by) => servers.add({ name, ...definition }, options, by),
    change: (id, { type: _, ...definition }, by) => servers.change(id, undefined, definition, by),
  }
}
