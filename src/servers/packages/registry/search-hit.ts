import { isObject } from '../../../kernel/json/json-checks.ts'
import { isoTime } from '../../../kernel/time.ts'
import { objectOf, textOf, textsOf, timeOf } from '../foreign-json.ts'
import { isPackageName } from '../package-spec.ts'
import { isVersion, latestOf, licenseOf, type Packument, personOf, repositoryOf } from './packument.ts'
import { type RegistryFacts, type TrustFact, trustFacts } from './trust-facts.ts'

/** One search result. Null: the registry gives no value. */
export interface Hit {
  readonly name: string
  readonly version: string | null
  readonly description: string | null
  readonly keywords: string[]
  readonly publisher: string | null
  readonly date: string | null
  readonly license: string | null
  readonly downloads_weekly: number | null
  readonly trust: TrustFact[]
}

/** A package as the registry describes it, before its trust facts are derived. */
export interface FoundPackage extends RegistryFacts {
  readonly version: string | null
  readonly description: string | null
  readonly keywords: readonly string[]
}

export function hitOf(found: FoundPackage, near: string | undefined, now: number): Hit {
  return {
    name: found.name,
    version: found.version,
    description: found.description,
    keywords: [...found.keywords],
    publisher: found.publisher,
    date: found.publishedAt === null ? null : isoTime(found.publishedAt),
    license: found.license,
    downloads_weekly: found.downloadsWeekly,
    trust: trustFacts(found, near, now),
  }
}

/** One of `objects` in the response of `/-/v1/search`. Undefined when its name cannot be installed. */
function foundInSearch(raw: unknown): FoundPackage | undefined {
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
    maintainers: null, // CI publishes under a name that is not among them; only a packument has its attestation
    attested: null,
    hasInstallScript: null,
    deprecated: null,
    license: licenseOf(one.license),
    repository: textOf(links.repository) ?? repositoryOf(one.repository),
    downloadsWeekly: typeof weekly === 'number' && weekly >= 0 ? Math.round(weekly) : null,
  }
}

export function foundInPackument(packument: Packument): FoundPackage {
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

/** Undefined when the response is not a search result. */
export function foundIn(json: unknown): FoundPackage[] | undefined {
  if (!isObject(json) || !Array.isArray(json.objects)) return undefined
  return json.objects.flatMap((one) => foundInSearch(one) ?? [])
}
