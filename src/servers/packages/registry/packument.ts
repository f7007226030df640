import { prerelease, rcompare, valid } from 'semver'
import { isObject } from '../../../kernel/json/json-checks.ts'
import { objectOf, own, type Raw, textOf, textsOf, timeOf } from '../foreign-json.ts'

/** The registry's document about a package, with every field checked. */
export interface Packument {
  readonly name: string
  /** The abbreviated form has no times, people, licenses and descriptions. */
  readonly form: 'full' | 'abbreviated'
  readonly tags: ReadonlyMap<string, string>
  readonly releases: ReadonlyMap<string, Release>
  readonly createdAt: number | null
  readonly description: string | null
  readonly keywords: readonly string[]
  readonly maintainers: readonly string[]
  readonly repository: string | null
}

/** One version of a package. Null: the registry gives no value. */
export interface Release {
  readonly version: string
  readonly integrity: string | null
  readonly deprecated: string | null
  readonly license: string | null
  /** The range of Node versions that it supports. */
  readonly engines: string | null
  readonly hasInstallScript: boolean | null
  readonly publishedAt: number | null
  readonly publisher: string | null
  /** The registry has an attestation of where it was built. Mirrors drop attestations, so null proves nothing. */
  readonly attested: true | null
}

/** Undefined when it is not a packument. `requested` is needed because some registries send times in both forms. */
export function readPackument(
  raw: unknown,
  name: string,
  requested: Packument['form'],
): Packument | undefined {
  if (!isObject(raw) || !isObject(raw.versions) || raw.name !== name) return undefined
  const times = objectOf(raw.time)
  const form = isObject(raw.time) ? requested : 'abbreviated'
  const releases = Object.entries(raw.versions).flatMap(([version, one]): [string, Release][] =>
    isObject(one) && isVersion(version) ? [[version, readRelease(version, one, times, form)]] : [],
  )
  const tags = Object.entries(objectOf(raw['dist-tags'])).filter(
    (tag): tag is [string, string] => TAG_NAME.test(tag[0]) && isVersion(tag[1]),
  )
  return {
    name,
    form,
    tags: new Map(tags),
    releases: new Map(releases),
    createdAt: timeOf(own(times, 'created')),
    description: textOf(raw.description),
    keywords: textsOf(raw.keywords),
    maintainers: peopleOf(raw.maintainers),
    repository: repositoryOf(raw.repository),
  }
}

/** A version becomes an argument of npm, so a registry must send a valid one. */
export const isVersion = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 128 && valid(value) === value

const TAG_NAME = /^[\w.-]{1,64}$/

/** Without the tag `latest`: the highest version, stable versions first. */
export function latestOf({ tags, releases }: Packument): Release | undefined {
  const tagged = releases.get(tags.get('latest') ?? '')
  if (tagged) return tagged
  const versions = [...releases.keys()].sort(rcompare)
  const stable = versions.find((version) => prerelease(version) === null)
  return releases.get(stable ?? versions[0] ?? '')
}

function readRelease(version: string, raw: Raw, times: Raw, form: Packument['form']): Release {
  const dist = objectOf(raw.dist)
  return {
    version,
    integrity: textOf(dist.integrity),
    deprecated: deprecationOf(raw.deprecated),
    license: licenseOf(raw.license ?? raw.licenses),
    engines: textOf(objectOf(raw.engines).node, 200),
    hasInstallScript: installScriptOf(raw, form),
    publishedAt: timeOf(own(times, version)),
    publisher: personOf(raw._npmUser),
    attested: isObject(dist.attestations) ? true : null,
  }
}

/** The full form repeats package.json, so a missing script does not exist. The abbreviated form may omit it. */
function installScriptOf(raw: Raw, form: Packument['form']): boolean | null {
  if (typeof raw.hasInstallScript === 'boolean') return raw.hasInstallScript
  if (form === 'abbreviated') return null
  const scripts = objectOf(raw.scripts)
  return ['preinstall', 'install', 'postinstall'].some((name) => textOf(own(scripts, name)) !== null)
}

/** npm writes `true` for a deprecation without a reason, and an empty string for one that was withdrawn. */
function deprecationOf(value: unknown): string | null {
  return value === true ? 'no reason given' : textOf(value)
}

/** A name, or an object or a list of objects in old packages. */
export function licenseOf(value: unknown): string | null {
  if (Array.isArray(value)) return value.map(licenseOf).find((found) => found !== null) ?? null
  return textOf(isObject(value) ? (value.type ?? value.name) : value, 200)
}

export const repositoryOf = (value: unknown): string | null => textOf(isObject(value) ? value.url : value)

/** The name in `{name}`, `{username}` or `Jo <jo@x.example>`, without the e-mail address. */
export function personOf(value: unknown): string | null {
  const name = isObject(value) ? (value.username ?? value.name) : value
  return typeof name === 'string' ? textOf(name.replace(/[<(].*$/s, '').trim(), 200) : null
}

const peopleOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.slice(0, 100).flatMap((one) => personOf(one) ?? []) : []
