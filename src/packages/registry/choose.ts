import { compare, gt, prerelease, satisfies, validRange } from 'semver'
import { AppError } from '../../kernel/errors.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Spec } from '../spec.ts'
import { latestOf, type Packument, type Release } from './packument.ts'

/** The version that will be installed, and what a person should know about it. Null is what the registry does not say. */
export interface Chosen extends Omit<Release, 'publisher' | 'attested' | 'unpackedBytes'> {
  readonly name: string
  /** The version or tag that was asked for. */
  readonly requested: string
  readonly latest: string | null
  readonly warnings: readonly string[]
}

interface Options {
  readonly now: number
  /** Refuses what is younger; 0 refuses nothing. */
  readonly minAgeDays: number
}

const DAY_MS = 86_400_000
const LATEST = 'latest'

/** `node` is the version of Node that will run it, as `process.versions.node` spells it. */
export function choose(packument: Packument, spec: Spec, node: string, options: Options): Chosen {
  const asked = named(packument, spec)
  const release = spec.wanted === LATEST ? runnable(packument, asked, node) : asked
  if (!release || !runsOn(release, node)) throw needsAnotherNode(packument.name, asked, node)
  refuseTooNew(packument, release, node, options)
  return {
    name: packument.name,
    version: release.version,
    requested: spec.wanted,
    latest: latestOf(packument)?.version ?? null,
    integrity: release.integrity,
    tarball: release.tarball,
    deprecated: release.deprecated,
    license: release.license,
    engines: release.engines,
    hasInstallScript: release.hasInstallScript,
    publishedAt: release.publishedAt,
    warnings: warningsFor(packument.name, asked, release, node),
  }
}

function named(packument: Packument, { name, wanted, kind }: Spec): Release {
  const { releases, tags } = packument
  const found =
    wanted === LATEST
      ? latestOf(packument)
      : releases.get(kind === 'version' ? wanted : (tags.get(wanted) ?? ''))
  if (found) return found
  const known = [...tags.keys()].slice(0, 10).join(', ')
  throw new AppError('package_not_found', `'${name}' has no ${kind} '${wanted}'`, {
    hint: known === '' ? 'The registry lists no version of it' : `It has the tags: ${known}`,
  })
}

/** Nobody named a version, so the newest that runs here is as good as meant. One that is not deprecated goes first. */
function runnable(packument: Packument, latest: Release, node: string): Release | undefined {
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

/** A range that cannot be read says nothing, and then nothing speaks against it. */
function runsOn({ engines }: Release, node: string): boolean {
  if (engines === null || validRange(engines) === null) return true
  return satisfies(node, engines, { includePrerelease: true })
}

function needsAnotherNode(name: string, { version, engines }: Release, node: string): AppError {
  const message = `'${name}' ${version} needs Node ${engines}, and this is Node ${node}`
  return new AppError('node_too_old', message, {
    hint: 'Install such a Node and start Toolroom with it, or ask for another version of the package',
  })
}

/** An age that nobody knows is refused too: a gate that opens by leaving out the date would be none. */
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
    `'${packument.name}' ${version} ${when}, and MIN_RELEASE_AGE_DAYS asks for an age of ${minAgeDays} days`,
    { hint: other ? `Version ${other.version} is old enough` : 'Wait, or lower MIN_RELEASE_AGE_DAYS' },
  )
}

function warningsFor(name: string, asked: Release, release: Release, node: string): string[] {
  const warnings: string[] = []
  if (release !== asked) {
    warnings.push(
      `The newest version of '${name}' is ${asked.version}, which needs Node ${asked.engines}; ${release.version} is the newest that runs on Node ${node}`,
    )
  }
  if (release.deprecated !== null) {
    warnings.push(`'${name}' ${release.version} is deprecated: ${release.deprecated.slice(0, 300)}`)
  }
  return warnings
}
