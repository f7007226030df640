import { join } from 'node:path'
import { validRange } from 'semver'
import { AppError } from '../../kernel/errors.ts'
import { objectOf, readJson } from './foreign-json.ts'
import { type Chooser, candidates, type Manifests } from './registry/manifests.ts'

interface Walk extends Chooser {
  /** Undefined when the registry does not have the package. */
  readonly manifestsOf: (name: string) => Promise<Manifests | undefined>
  readonly deadlineMs?: number
}

interface Step {
  readonly name: string
  readonly wanted: string
}

const AT_ONCE = 8
const MAX_SEEN = 20_000
/** For all lookups together. Each has a deadline of its own. */
const WALK_MS = 3 * 60_000

/**
 * Follows every dependency that npm might follow, in the registry alone, and throws when one of them leads out of it. For
 * versions of npm that would fetch it, and run programs that it names, before the result can be checked.
 */
export async function walkDependencies(root: Step, walk: Walk): Promise<void> {
  const seen = new Set<string>()
  const isNew = (key: string) => seen.size < seen.add(key).size
  const endsAt = performance.now() + (walk.deadlineMs ?? WALK_MS)
  const waiting = [root]
  const running = new Set<Promise<void>>()

  async function visit(step: Step): Promise<void> {
    for (const { owner, needs, hasOwnTree } of await versionsFor(step, walk)) {
      if (!isNew(owner)) continue
      if (hasOwnTree) throw hiddenTree(root, owner, walk)
      for (const [name, spec] of needs) {
        const dependency = registryDependency(name, spec)
        if (!dependency) throw outside(root, owner, name)
        if (isNew(`${dependency.name} ${dependency.wanted}`)) waiting.push(dependency)
      }
    }
    if (seen.size > MAX_SEEN) throw tooMany(root)
    if (performance.now() > endsAt) throw tooSlow(root, seen.size)
  }

  for (let step = waiting.pop(); step !== undefined || running.size > 0; step = waiting.pop()) {
    if (step) {
      const visited = visit(step).finally(() => running.delete(visited))
      visited.catch(() => {}) // the first failure ends the walk
      running.add(visited)
    }
    if (waiting.length === 0 || running.size >= AT_ONCE) await Promise.race(running)
  }
}

async function versionsFor({ name, wanted }: Step, walk: Walk) {
  const manifests = await walk.manifestsOf(name)
  const found = manifests ? candidates(manifests, wanted, walk) : []
  return found.map(({ version, needs, hasOwnTree }) => ({ owner: `'${name}' ${version}`, needs, hasOwnTree }))
}

const outside = ({ name }: Pick<Step, 'name'>, owner: string, dependency: string): AppError =>
  new AppError(
    'install_failed',
    `'${name}' was not installed: ${owner} needs '${dependency.slice(0, 214)}' from outside of the registry`,
    {
      hint: 'Toolroom installs from the registry only. Install the package yourself and add a server by its command',
    },
  )

const hiddenTree = ({ name }: Step, owner: string, { npm }: Walk): AppError =>
  new AppError(
    'install_failed',
    `'${name}' was not installed: ${owner} contains dependencies that the registry does not list, and npm ${npm} does not check where they come from`,
    { hint: 'Install a newer npm: npm install --global npm@11' },
  )

const tooSlow = ({ name }: Step, seen: number): AppError =>
  new AppError(
    'registry_timeout',
    `'${name}' was not installed: the registry answered too slowly to check all its dependencies, ${seen} so far`,
    {
      hint: 'Try again later, or install a newer npm, which checks them itself: npm install --global npm@11',
    },
  )

const tooMany = ({ name }: Step): AppError =>
  new AppError(
    'install_failed',
    `'${name}' was not installed: it has too many dependencies to check them one by one`,
    {
      hint: 'Install a newer npm, which checks them itself: npm install --global npm@11',
    },
  )

/** A dependency that comes from the registry: a version, a range or a tag of a package there. */
interface RegistryDependency {
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

/** True when a registry that npm uses delivers this version of a package from this URL. */
export type IsRegistryUrl = (name: string, version: string, url: string) => Promise<boolean>

/**
 * Throws unless every package that npm resolved came from the registry. A link, a git repository, a URL of another host
 * or a file is refused, also one that only a package's own lock file names.
 */
export async function checkLock(folder: string, name: string, isRegistryUrl: IsRegistryUrl): Promise<void> {
  const { packages } = readJson(join(folder, 'package-lock.json'))
  for (const [path, raw] of Object.entries(objectOf(packages))) {
    if (path === '') continue
    const { link, inBundle, resolved, version, name: realName } = objectOf(raw)
    const place = PLACE.exec(path)?.[1]
    const isPlain = place !== undefined && link === undefined
    if (isPlain && resolved === undefined && inBundle === true) continue // came with the package that contains it
    const isFromRegistry =
      isPlain &&
      typeof version === 'string' &&
      typeof resolved === 'string' &&
      (await isRegistryUrl(typeof realName === 'string' ? realName : place, version, resolved))
    if (!isFromRegistry) throw outside({ name }, 'it', place ?? path)
  }
}

/** A package in node_modules, or in that of another package. Anything else is a folder somewhere on the disk. */
const PLACE = /^node_modules\/(?:(?:@[^/]+\/)?(?!\.)[^/]+\/node_modules\/)*((?:@[^/]+\/)?(?!\.)[^/]+)$/
