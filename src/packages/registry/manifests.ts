import { compare, satisfies, valid, validRange } from 'semver'
import { isObject } from '../../kernel/is-object.ts'
import { objectOf, own, type Raw } from '../raw-json.ts'

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
  readonly engines: string
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
 * The versions that npm may choose for a version, a range or a tag. Without a date limit npm prefers the version of a tag,
 * then versions that are not restricted, not deprecated and for this Node, then the highest. So of all versions that are
 * equal in these respects only the highest counts. With a date limit every version that fits counts.
 */
export function candidates(
  { tags, versions }: Manifests,
  wanted: string,
  hasDateLimit: boolean,
): readonly Manifest[] {
  const range = validRange(wanted, LOOSE)
  const of = (version: string | undefined) => versions.get(version ?? '') ?? []
  if (range === null) return hasDateLimit ? [...versions.values()] : [of(tags.get(wanted))].flat()
  const fits = (version: string) => satisfies(version, range, LOOSE)
  const tagged = [...new Set(tags.values())].filter((version) => range === '*' || fits(version)).flatMap(of)
  const fitting = [...versions.values()].filter(({ version }) => fits(version))
  if (hasDateLimit) return [...tagged, ...fitting]
  const best = new Map<string, Manifest>()
  for (const one of fitting) {
    const kind = JSON.stringify([one.deprecated, one.restricted, one.engines])
    const other = best.get(kind)
    if (!other || compare(one.version, other.version, LOOSE) > 0) best.set(kind, one)
  }
  const found = [...tagged, ...best.values()]
  const isSettled = [...best.values()].some(isPreferred)
  return isSettled ? found.filter((one) => !one.deprecated && !one.restricted) : found
}

const LOOSE = { loose: true }

/** Preferred on every Node. npm takes no deprecated version while there is one of these. */
const isPreferred = ({ deprecated, restricted, engines }: Manifest) =>
  !deprecated && !restricted && engines === NO_ENGINES

const NO_ENGINES = '{}'

function readManifest(version: string, raw: Raw, restricted: boolean): Manifest {
  const { tarball } = objectOf(raw.dist)
  return {
    version,
    needs: FIELDS.flatMap((field) => entriesOf(own(raw, field))),
    hasOwnTree: Boolean(raw._hasShrinkwrap) || BUNDLES.some((field) => hasMembers(own(raw, field))),
    tarball: typeof tarball === 'string' ? tarball : null,
    deprecated: Boolean(raw.deprecated),
    restricted,
    engines: JSON.stringify(raw.engines ?? {}),
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
