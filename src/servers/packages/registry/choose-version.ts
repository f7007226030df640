import { compare, gt, prerelease, satisfies, validRange } from 'semver'
import { AppError } from '../../../kernel/errors.ts'
import { isoTime } from '../../../kernel/time.ts'
import type { Spec } from '../package-spec.ts'
import { latestOf, type Packument, type Release } from './packument.ts'

/** The version to install. Null: the registry gives no value. */
export interface Chosen extends Release {
  readonly name: string
  /** The version or tag of the request. */
  readonly requested: string
  readonly latest: string | null
  readonly warnings: readonly string[]
}

interface Options {
  readonly now: number
  /** Younger versions are refused; 0 refuses none. */
  readonly minAgeDays: number
}

const DAY_MS = 86_400_000
const LATEST = 'latest'

/** Chooses the version to install. `node` is the version of Node that will run it. */
export function choose(packument: Packument, spec: Spec, node: string, options: Options): Chosen {
  const named = releaseOf(packument, spec)
  const release = spec.requested === LATEST ? newestRunnable(packument, named, node) : named
  if (!release || !runsOn(release, node)) throw needsAnotherNode(packument.name, named, node)
  refuseTooNew(packument, release, node, options)
  return {
    ...release,
    name: packument.name,
    requested: spec.requested,
    latest: latestOf(packument)?.version ?? null,
    warnings: warningsFor(packument.name, named, release, node),
  }
}

function releaseOf(packument: Packument, { name, requested, kind }: Spec): Release {
  const { releases, tags } = packument
  const found =
    requested === LATEST
      ? latestOf(packument)
      : releases.get(kind === 'version' ? requested : (tags.get(requested) ?? ''))
  if (found) return found
  const known = [...tags.keys()].slice(0, 10).join(', ')
  throw new AppError('package_not_found', `'${name}' has no ${kind} '${requested}'`, {
    hint: known === '' ? 'The registry lists no version of it' : `It has the tags: ${known}`,
  })
}

/** For `latest`: the newest version that supports this Node, preferably one that is not deprecated. */
function newestRunnable(packument: Packument, latest: Release, node: string): Release | undefined {
  if (runsOn(latest, node)) return latest
  const older = olderThan(packument, latest).filter((release) => runsOn(release, node))
  return older.find(({ deprecated }) => deprecated === null) ?? older[0]
}

/** Newest first, without prereleases. */
function olderThan({ releases }: Packument, latest: Release): Release[] {
  return [...releases.values()]
    .filter(({ version }) => prerelease(version) === null && !gt(version, latest.version))
    .sort((a, b) => compare(b.version, a.version))
}

/** True without a valid range. */
function runsOn({ engines }: Release, node: string): boolean {
  if (engines === null || validRange(engines) === null) return true
  return satisfies(node, engines, { includePrerelease: true })
}

function needsAnotherNode(name: string, { version, engines }: Release, node: string): AppError {
  const message = `'${name}' ${version} needs Node ${engines}, but this is Node ${node}`
  return new AppError('node_too_old', message, {
    hint: 'Run Toolroom on a Node version in that range, or install another version of the package',
  })
}

/** An unknown age is refused too, or a registry could bypass the check by omitting the date. */
function refuseTooNew(
  packument: Packument,
  release: Release,
  node: string,
  { now, minAgeDays }: Options,
): void {
  if (minAgeDays <= 0) return
  const isOldEnough = ({ publishedAt }: Release) =>
    publishedAt !== null && now - publishedAt >= minAgeDays * DAY_MS
  if (isOldEnough(release)) return
  const { version, publishedAt } = release
  const when =
    publishedAt === null ? 'has no known date' : `was published ${isoTime(publishedAt).slice(0, 10)}`
  const other = olderThan(packument, release).find((older) => isOldEnough(older) && runsOn(older, node))
  throw new AppError(
    'package_too_new',
    `'${packument.name}' ${version} ${when}, but MIN_RELEASE_AGE_DAYS requires an age of ${minAgeDays} days`,
    { hint: other ? `Version ${other.version} is old enough` : 'Wait, or lower MIN_RELEASE_AGE_DAYS' },
  )
}

function warningsFor(name: string, named: Release, release: Release, node: string): string[] {
  const warnings: string[] = []
  if (release !== named) {
    warnings.push(
      `The newest version of '${name}' is ${named.version}, which needs Node ${named.engines}; ${release.version} is the newest that runs on Node ${node}`,
    )
  }
  if (release.deprecated !== null) {
    warnings.push(`'${name}' ${release.version} is deprecated: ${release.deprecated.slice(0, 300)}`)
  }
  return warnings
}
