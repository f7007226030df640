import { maskUrl } from '../../../kernel/secrets/mask-secrets.ts'
import { isoTime } from '../../../kernel/time.ts'

/** One fact for or against a package. A fact that the registry does not provide is `unknown`, never `look`. */
export interface TrustFact {
  readonly fact: (typeof FACTS)[number]
  readonly state: 'good' | 'look' | 'unknown'
  readonly detail: string
}

export const FACTS = [
  'near_name',
  'deprecated',
  'install_scripts',
  'published_recently',
  'package_age',
  'publisher',
  'provenance',
  'license',
  'repository',
  'downloads',
] as const

/** Null: the registry gives no value. */
export interface RegistryFacts {
  readonly name: string
  readonly publishedAt: number | null
  readonly createdAt: number | null
  readonly publisher: string | null
  readonly maintainers: readonly string[] | null
  readonly attested: true | null
  readonly hasInstallScript: boolean | null
  /** The reason; false when it is not deprecated. */
  readonly deprecated: string | false | null
  readonly license: string | null
  readonly repository: string | null
  readonly downloadsWeekly: number | null
}

const DAY_MS = 86_400_000
const RECENT_DAYS = 7
const YOUNG_DAYS = 30
const MANY_WEEKLY = 1000

type Judgement = Pick<TrustFact, 'state' | 'detail'>
const good = (detail: string): Judgement => ({ state: 'good', detail })
const look = (detail: string): Judgement => ({ state: 'look', detail })
const unknown = (detail: string): Judgement => ({ state: 'unknown', detail })

/** `near` is a package whose name could be confused with this one. */
export function trustFacts(facts: RegistryFacts, near: string | undefined, now: number): TrustFact[] {
  const judged: Record<TrustFact['fact'], Judgement> = {
    near_name: near
      ? look(`The name is very similar to the far better known '${near}'`)
      : good('No well-known package has a similar name'),
    deprecated: deprecation(facts),
    install_scripts: installScripts(facts),
    published_recently: recency(facts, now),
    package_age: age(facts, now),
    publisher: publisher(facts),
    provenance: facts.attested
      ? good('The registry has a provenance attestation for it')
      : unknown('The registry has no provenance attestation for it'),
    license: license(facts),
    repository: repository(facts),
    downloads: downloads(facts),
  }
  return FACTS.map((fact) => ({ fact, ...judged[fact] }))
}

function deprecation({ deprecated }: RegistryFacts): Judgement {
  if (deprecated === null) return unknown('The registry does not say whether it is deprecated')
  return deprecated === false
    ? good('It is not deprecated')
    : look(`It is deprecated: ${oneLine(deprecated)}`)
}

function installScripts({ hasInstallScript }: RegistryFacts): Judgement {
  if (hasInstallScript === null) return unknown('The registry does not say whether it has install scripts')
  return hasInstallScript
    ? look('It has an install script, which Toolroom skips unless you allow it')
    : good('It has no install script')
}

function recency({ publishedAt }: RegistryFacts, now: number): Judgement {
  if (publishedAt === null) return unknown('The registry does not say when this version was published')
  const days = Math.floor((now - publishedAt) / DAY_MS)
  const detail = `This version was published ${ago(days)}, on ${isoTime(publishedAt).slice(0, 10)}`
  return days < RECENT_DAYS ? look(detail) : good(detail)
}

function age({ createdAt }: RegistryFacts, now: number): Judgement {
  if (createdAt === null) return unknown('The registry does not say when the package was created')
  const days = Math.floor((now - createdAt) / DAY_MS)
  const detail = `The package was created on ${isoTime(createdAt).slice(0, 10)}`
  return days < YOUNG_DAYS ? look(detail) : good(detail)
}

/** CI publishes under a name of its own; an attestation vouches for it. */
function publisher({ publisher: name, maintainers, attested }: RegistryFacts): Judgement {
  if (name === null) return unknown('The registry does not say who published it')
  const isUnknown = maintainers !== null && maintainers.length > 0 && !maintainers.includes(name) && !attested
  const detail = `Published by '${oneLine(name)}'`
  return isUnknown ? look(`${detail}, who is not one of its current maintainers`) : good(detail)
}

function license({ license: name }: RegistryFacts): Judgement {
  if (name === null) return unknown('The registry lists no license')
  const detail = `License: ${oneLine(name)}`
  return /^(?:unlicensed|see license|none)/i.test(name.trim()) ? look(detail) : good(detail)
}

function repository({ repository: url }: RegistryFacts): Judgement {
  if (url === null) return unknown('The registry lists no source code repository')
  const shown = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? maskUrl(url) : url
  return good(`Source code: ${oneLine(shown)}`)
}

function downloads({ downloadsWeekly }: RegistryFacts): Judgement {
  if (downloadsWeekly === null) return unknown('The registry does not say how often it is downloaded')
  const detail = `${downloadsWeekly.toLocaleString('en-US')} downloads a week`
  return downloadsWeekly < MANY_WEEKLY ? look(detail) : good(detail)
}

const ago = (days: number) => (days < 1 ? 'today' : days === 1 ? 'yesterday' : `${days} days ago`)

/** Text of the registry without line breaks and control characters, at most 200 characters. */
const oneLine = (text: string) =>
  text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 200)
