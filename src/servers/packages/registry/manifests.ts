import { compare, satisfies, valid, validRange } from 'semver'
import { isObject } from '../../../kernel/json/json-checks.ts'
import { objectOf, own, type Raw } from '../foreign-json.ts'

/** What npm reads about a package when it resolves dependencies. */
export interface Manifests {
  readonly tags: ReadonlyMap<string, string>
  readonly versions: ReadonlyMap<string, Manifest>
}

export interface Manifest {
  readonly version: string
  /** Names and specs from all fields that npm installs from, unchecked. */
  readonly needs: readonly (readonly [name: string, spec: unknown])[]
  /** Further dependencies are listed only in its tarball: in a bundle or in a lock file. */
  readonly hasOwnTree: boolean
  readonly tarball: string | null
  /** What npm compares before it compares versions. */
  readonly deprecated: boolean
  readonly restricted: boolean
  readonly engines: unknown
}

/** What npm's choice depends on besides the versions. */
export interface Chooser {
  readonly npm: string
  /** The version of Node that runs npm. */
  readonly node: string
  /** npm considers only versions up to a date. */
  readonly hasDateLimit: boolean
}

export function readManifests(raw: Raw): Manifests {
  const restricted = objectOf(objectOf(raw.policyRestrictions).versions)
  const versions = Object.entries(objectOf(raw.versions)).flatMap(([version, one]): [string, Manifest][] =>
    isObject(one) && valid(version, LOOSE) !== null
      ? [[version, readManifest(version, one, own(restricted, version) !== undefined)]]
      : [],
  )
  const tags = Object.entries(objectOf(raw['dist-tags'])).filter(
    (tag): tag is [string, string] => typeof tag[1] === 'string',
  )
  return { tags: new Map(tags), versions: new Map(versions) }
}

/**
 * The versions that npm may choose for a version, a range or a tag. It prefers the version of its default tag, which is a
 * setting, so all tags count. Otherwise it takes the highest of those that are not restricted, not deprecated and for its
 * Node, and gives these up one by one. With a date limit every version that fits counts.
 */
export function candidates(
  { tags, versions }: Manifests,
  wanted: string,
  chooser: Chooser,
): readonly Manifest[] {
  const range = validRange(wanted, LOOSE)
  const of = (version: string | undefined) => versions.get(version ?? '') ?? []
  if (range === null) return chooser.hasDateLimit ? [...versions.values()] : [of(tags.get(wanted))].flat()
  const fits = (version: string) => satisfies(version, range, LOOSE)
  const tagged = [...new Set(tags.values())].filter((version) => range === '*' || fits(version)).flatMap(of)
  const fitting = [...versions.values()].filter(({ version }) => fits(version))
  if (chooser.hasDateLimit) return [...tagged, ...fitting]
  const best = fitting.reduce<Manifest | undefined>(
    (one, other) => (one === undefined || isBetter(other, one, chooser) ? other : one),
    undefined,
  )
  return [...tagged.filter((one) => rankOf(one, chooser) === 0), ...(best ? [best] : [])]
}

const LOOSE = { loose: true }

function isBetter(one: Manifest, other: Manifest, chooser: Chooser): boolean {
  const difference = rankOf(one, chooser) - rankOf(other, chooser)
  return difference < 0 || (difference === 0 && compare(one.version, other.version, LOOSE) > 0)
}

/** 0 is best. A deprecated version is preferred to one for another Node, and any to a restricted one. */
function rankOf({ deprecated, restricted, engines }: Manifest, { npm, node }: Chooser): number {
  const { node: forNode, npm: forNpm } = objectOf(engines)
  const isForThese = runsOn(node, forNode) && runsOn(npm, forNpm)
  return (restricted ? 4 : 0) + (isForThese ? 0 : 2) + (deprecated ? 1 : 0)
}

const runsOn = (version: string, range: unknown): boolean =>
  !range || (typeof range === 'string' && satisfies(version, range, { includePrerelease: true }))

function readManifest(version: string, raw: Raw, restricted: boolean): Manifest {
  const { tarball } = objectOf(raw.dist)
  return {
    version,
    needs: FIELDS.flatMap((field) => entriesOf(own(raw, field))),
    hasOwnTree: Boolean(raw._hasShrinkwrap) || BUNDLES.some((field) => hasMembers(own(raw, field))),
    tarball: typeof tarball === 'string' ? tarball : null,
    deprecated: Boolean(raw.deprecated),
    restricted,
    engines: raw.engines,
  }
}

const FIELDS = ['dependencies', 'optionalDependencies', 'peerDependencies']
const BUNDLES = ['bundleDependencies', 'bundledDependencies']

const hasMembers = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)

/** Old packages have a list or a text in place of an object. npm reads its members, too. */
function entriesOf(value: unknown): [string, unknown][] {
  if (typeof value === 'string' && value !== '') return [['', value]]
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
