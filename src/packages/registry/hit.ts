import { isoTime } from '../../kernel/time.ts'
import { isPackageName } from '../spec.ts'
import {
  isObject,
  isVersion,
  latestOf,
  licenseOf,
  objectOf,
  type Packument,
  personOf,
  repositoryOf,
  textOf,
  textsOf,
  timeOf,
} from './packument.ts'
import { type Told, type TrustFact, trustFacts } from './trust.ts'

/** One package as a search shows it. The caller adds `installed`. Null is what the registry does not say. */
export interface Hit {
  readonly name: string
  readonly version: string | null
  readonly description: string | null
  readonly keywords: readonly string[]
  readonly publisher: string | null
  readonly date: string | null
  readonly license: string | null
  readonly downloads_weekly: number | null
  readonly trust: readonly TrustFact[]
}

/** What is known of a package before it is judged. */
export interface Found extends Told {
  readonly version: string | null
  readonly description: string | null
  readonly keywords: readonly string[]
}

export function hitOf(found: Found, near: string | undefined, now: number): Hit {
  return {
    name: found.name,
    version: found.version,
    description: found.description,
    keywords: found.keywords,
    publisher: found.publisher,
    date: found.publishedAt === null ? null : isoTime(found.publishedAt),
    license: found.license,
    downloads_weekly: found.downloadsWeekly,
    trust: trustFacts(found, near, now),
  }
}

/** One of `objects` in the answer of `/-/v1/search`. Undefined when it names no package that could be installed. */
function foundInSearch(raw: unknown): Found | undefined {
  const one = objectOf(objectOf(raw).package)
  if (typeof one.name !== 'string' || !isPackageName(one.name)) return undefined
  const { weekly } = objectOf(objectOf(raw).downloads)
  const links = objectOf(one.links)
  return {
    name: one.name,
    version: [one.version, objectOf(one['dist-tags']).latest].find(isVersion) ?? null,
    description: textOf(one.description),
    keywords: textsOf(one.keywords),
    publishedAt: timeOf(one.date),
    createdAt: null,
    publisher: personOf(one.publisher),
    maintainers: null, // a build machine publishes under a name that is not among them, and only a packument vouches for it
    attested: null,
    hasInstallScript: null,
    deprecated: null,
    license: licenseOf(one.license),
    repository: textOf(links.repository) ?? repositoryOf(one.repository),
    downloadsWeekly: typeof weekly === 'number' && weekly >= 0 ? Math.round(weekly) : null,
  }
}

/** Much more than a search tells. */
export function foundInPackument(packument: Packument): Found {
  const release = latestOf(packument)
  const full = packument.form === 'full'
  return {
    name: packument.name,
    version: release?.version ?? null,
    description: packument.description,
    keywords: packument.keywords,
    publishedAt: release?.publishedAt ?? null,
    createdAt: packument.createdAt,
    publisher: release?.publisher ?? null,
    maintainers: full ? packument.maintainers : null,
    attested: release?.attested ?? null,
    hasInstallScript: release?.hasInstallScript ?? null,
    deprecated: release ? (release.deprecated ?? false) : null,
    license: release?.license ?? null,
    repository: packument.repository,
    downloadsWeekly: null,
  }
}

/** Undefined when it is not the answer of a search at all. */
export function foundIn(json: unknown): Found[] | undefined {
  if (!isObject(json) || !Array.isArray(json.objects)) return undefined
  return json.objects.flatMap((one) => foundInSearch(one) ?? [])
}
