import type { Definition } from '../catalogue/definition.ts'
import type { Registered } from '../edit/desired-entry.ts'

/** Two entries with the same are the same server, whatever they are called and whoever may use it. */
export function identityOf(definition: Definition): string {
  return definition.type === 'stdio'
    ? JSON.stringify([definition.command, ...definition.args])
    : JSON.stringify(['url', definition.url])
}

/** Also in what it is given to know. */
export function isEqual(a: Definition, b: Definition): boolean {
  if (identityOf(a) !== identityOf(b)) return false
  const values = (one: Definition) => Object.entries(one.type === 'stdio' ? one.env : one.headers).sort()
  const folder = (one: Definition) => (one.type === 'stdio' ? one.cwd : null)
  return JSON.stringify(values(a)) === JSON.stringify(values(b)) && folder(a) === folder(b)
}

export function registeredAs(
  definition: Definition | null,
  registered: readonly Registered[],
): Registered | undefined {
  if (!definition) return undefined
  const identity = identityOf(definition)
  return registered.find((server) => identityOf(server.definition) === identity)
}
