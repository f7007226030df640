import { validRange } from 'semver'

/** A dependency that comes from the registry: a version, a range or a tag of a package there. */
export interface RegistryDependency {
  readonly name: string
  readonly wanted: string
}

/**
 * How npm reads one entry of `dependencies`. Undefined: not from the registry but from a git repository, a URL, a folder
 * or a file, or nothing that npm is known to accept.
 */
export function registryDependency(name: string, spec: unknown): RegistryDependency | undefined {
  if (typeof spec !== 'string' || spec.length > MAX_SPEC || !NAME.test(name)) return undefined
  const alias = /^npm:(@?[^@]+)(?:@(.*))?$/i.exec(spec)
  const dependency = alias ? { name: alias[1] ?? '', wanted: alias[2] ?? '' } : { name, wanted: spec }
  return NAME.test(dependency.name) && isFromRegistry(dependency.wanted) ? dependency : undefined
}

/** npm takes everything with a slash or a colon for a place, and a range that ends like an archive for a file. */
const isFromRegistry = (wanted: string): boolean =>
  !/[/\\:]|^\.|\.(?:tgz|tar.gz|tar)$/i.test(wanted) &&
  (validRange(wanted, { loose: true }) !== null || TAG.test(wanted))

/** What npm accepts of old packages: upper case and some punctuation, in the name and in the scope. */
const NAME = /^(?:@[\w.~!'()*-]+\/)?[a-z0-9~!'()*-][\w.~!'()*-]*$/i
const TAG = /^[\w.~!'()*-]+$/
const MAX_SPEC = 1000
