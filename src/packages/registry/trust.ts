import { maskUrl } from '../../kernel/secrets/secrets.ts'
import { isoTime } from '../../kernel/time.ts'

/** One thing to know before a stranger's program is installed. What the registry does not say is unknown, never bad. */
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

/** Null is what the registry does not say. */
export interface Told {
  readonly name: string
  readonly publishedAt: number | null
  readonly createdAt: number | null
  readonly publisher: string | null
  readonly maintainers: readonly string[] | null
  readonly attested: true | null
  readonly hasInstallScript: boolean | null
  /** False: it is not. */
  readonly deprecated: string | false | null
  readonly license: string | null
  readonly repository: string | null
  readonly downloadsWeekly: number | null
}

const DAY_MS = 86_400_000
const RECENT_DAYS = 7
const YOUNG_DAYS = 30
const MANY_WEEKLY = 1000

type Judged = Pick<TrustFact, 'state' | 'detail'>
const good = (detail: string): Judged => ({ state: 'good', detail })
const look = (detail: string): Judged => ({ state: 'look', detail })
const unknown = (detail: string): Judged => ({ state: 'unknown', detail })

/** `near` is the package it could be mistaken for. */
export function trustFacts(told: Told, near: string | undefined, now: number): TrustFact[] {
  const judged: Record<TrustFact['fact'], Judged> = {
    near_name: near
      ? look(`The name is very close to '${near}', which is far better known`)
      : good('No well-known package has a name that is close to this one'),
    deprecated: deprecation(told),
    install_scripts: installScripts(told),
    published_recently: recency(told, now),
    package_age: age(told, now),
    publisher: publisher(told),
    provenance: told.attested
      ? good('The registry holds a signed statement about where it was built')
      : unknown('The registry has no signed statement about where it was built'),
    license: license(told),
    repository: repository(told),
    downloads: downloads(told),
  }
  return FACTS.map((fact) => ({ fact, ...judged[fact] }))
}

function deprecation({ deprecated }: Told): Judged {
  if (deprecated === null) return unknown('The registry does not say whether it is deprecated')
  return deprecated === false ? good('It is not deprecated') : look(`It is deprecated: ${plain(deprecated)}`)
}

function installScripts({ hasInstallScript }: Told): Judged {
  if (hasInstallScript === null) return unknown('The registry does not say whether it has install scripts')
  return hasInstallScript
    ? look('It wants to run a script while it is installed; Toolroom skips that unless you allow it')
    : good('It runs nothing while it is installed')
}

function recency({ publishedAt }: Told, now: number): Judged {
  if (publishedAt === null) return unknown('The registry does not say when this version was published')
  const days = Math.floor((now - publishedAt) / DAY_MS)
  const detail = `This version was published ${ago(days)}, on ${isoTime(publishedAt).slice(0, 10)}`
  return days < RECENT_DAYS ? look(detail) : good(detail)
}

function age({ createdAt }: Told, now: number): Judged {
  if (createdAt === null) return unknown('The registry does not say since when the package exists')
  const days = Math.floor((now - createdAt) / DAY_MS)
  const detail = `The package exists since ${isoTime(createdAt).slice(0, 10)}`
  return days < YOUNG_DAYS ? look(detail) : good(detail)
}

/** A build machine publishes under a name of its own; its signed statement speaks for it. */
function publisher({ publisher: who, maintainers, attested }: Told): Judged {
  if (who === null) return unknown('The registry does not say who published it')
  const stranger = maintainers !== null && maintainers.length > 0 && !maintainers.includes(who) && !attested
  const detail = `Published by '${plain(who)}'`
  return stranger ? look(`${detail}, who is not among its maintainers now`) : good(detail)
}

function license({ license: name }: Told): Judged {
  if (name === null) return unknown('The registry names no license')
  const detail = `License: ${plain(name)}`
  return /^(?:unlicensed|see license|none)/i.test(name.trim()) ? look(detail) : good(detail)
}

function repository({ repository: url }: Told): Judged {
  if (url === null) return unknown('The registry names no place of its source code')
  const shown = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? maskUrl(url) : url
  return good(`Source code: ${plain(shown)}`)
}

function downloads({ downloadsWeekly }: Told): Judged {
  if (downloadsWeekly === null) return unknown('The registry does not say how often it is downloaded')
  const detail = `${downloadsWeekly.toLocaleString('en-US')} downloads a week`
  return downloadsWeekly < MANY_WEEKLY ? look(detail) : good(detail)
}

const ago = (days: number) => (days < 1 ? 'today' : days === 1 ? 'yesterday' : `${days} days ago`)

/** Words of strangers, on one line and of a length that a list can carry. */
const plain = (text: string) =>
  text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 200)
