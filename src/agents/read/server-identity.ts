import { AppError } from '../../kernel/errors.ts'
import { memo } from '../../kernel/memo.ts'
import type { Definition, RegisteredServer } from '../catalogue/definition.ts'

/** Two definitions with the same identity are the same server, whatever its name, environment or headers. */
export function identityOf(definition: Definition): string {
  return definition.type === 'stdio'
    ? JSON.stringify([definition.command, ...definition.args])
    : JSON.stringify(['url', definition.url])
}

/** Whether environment, headers and working folder are equal too. */
export function isEqual(a: Definition, b: Definition): boolean {
  if (identityOf(a) !== identityOf(b)) return false
  const values = (one: Definition) => Object.entries(one.type === 'stdio' ? one.env : one.headers).sort()
  const folder = (one: Definition) => (one.type === 'stdio' ? one.cwd : null)
  return JSON.stringify(values(a)) === JSON.stringify(values(b)) && folder(a) === folder(b)
}

export function registeredAs(
  definition: Definition | null,
  registered: readonly RegisteredServer[],
): { readonly id: string; readonly definition: Definition } | undefined {
  return definition ? byIdentity(registered).get(identityOf(definition)) : undefined
}

/** The same list is searched for every entry of a file. The first server of an identity counts. */
const byIdentity = memo((registered: readonly RegisteredServer[]) => {
  const known = new Map<string, { readonly id: string; readonly definition: Definition }>()
  for (const { id, definition } of registered.toReversed())
    if (!(definition instanceof AppError)) known.set(identityOf(definition), { id, definition })
  return known
})
