import { AppError } from '../kernel/errors.ts'
import { registryDependency } from './dependency-spec.ts'
import { candidates, type Manifests } from './registry/manifests.ts'

export interface Walk {
  /** Undefined when the registry does not have the package. */
  readonly manifestsOf: (name: string) => Promise<Manifests | undefined>
  /** npm considers only versions up to a date. */
  readonly hasDateLimit: boolean
  /** The version of npm, for errors. */
  readonly npm: string
}

interface Step {
  readonly name: string
  readonly wanted: string
}

const AT_ONCE = 8
const MAX_SEEN = 20_000

/**
 * Follows every dependency that npm might follow, in the registry alone, and throws when one of them leads out of it. For
 * versions of npm that would fetch it, and run programs that it names, before the result can be checked.
 */
export async function walkDependencies(root: Step, walk: Walk): Promise<void> {
  const seen = new Set<string>()
  const isNew = (key: string) => seen.size < seen.add(key).size
  for (let wave: Step[] = [root]; wave.length > 0; ) {
    const next: Step[] = []
    for (let at = 0; at < wave.length; at += AT_ONCE) {
      const found = await Promise.all(wave.slice(at, at + AT_ONCE).map((step) => versionsFor(step, walk)))
      for (const { owner, needs, hasOwnTree } of found.flat()) {
        if (!isNew(owner)) continue
        if (hasOwnTree) throw hiddenTree(root, owner, walk)
        for (const [name, spec] of needs) {
          const dependency = registryDependency(name, spec)
          if (!dependency) throw outside(root, owner, name)
          if (isNew(`${dependency.name} ${dependency.wanted}`)) next.push(dependency)
        }
      }
      if (seen.size > MAX_SEEN) throw tooMany(root)
    }
    wave = next
  }
}

async function versionsFor({ name, wanted }: Step, { manifestsOf, hasDateLimit }: Walk) {
  const manifests = await manifestsOf(name)
  const found = manifests ? candidates(manifests, wanted, hasDateLimit) : []
  return found.map(({ version, needs, hasOwnTree }) => ({ owner: `'${name}' ${version}`, needs, hasOwnTree }))
}

export const outside = ({ name }: Pick<Step, 'name'>, owner: string, dependency: string): AppError =>
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

const tooMany = ({ name }: Step): AppError =>
  new AppError(
    'install_failed',
    `'${name}' was not installed: it has too many dependencies to check them one by one`,
    {
      hint: 'Install a newer npm, which checks them itself: npm install --global npm@11',
    },
  )
