import type { Isolation } from '../../kernel/isolation-options.ts'
import type { Resolved } from '../shared/definition/resolved-references.ts'
import { digestOf } from '../shared/tries.ts'

interface Started extends Isolation {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly package: string | null
}

/** Tells two definitions apart as they are started, with the values of their references. */
export function startDigest<T extends Started>(
  given: T,
  resolved: Resolved<T>,
  versionOf: (packageName: string) => string | null,
): string {
  const { command, args, env, cwd, package: from, ...rest } = resolved.ok ? resolved.definition : given
  const { isolation, isolation_options } = rest
  const version = from === null ? null : versionOf(from)
  const options = isolation === 'none' ? null : isolation_options
  return digestOf([resolved.ok, command, args, env, cwd, from, version, isolation, options])
}
