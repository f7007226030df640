import { prerelease, rcompare, valid } from 'semver'

/** What a registry knows about a package, read once and checked: nothing in it is of another type than said here. */
export interface Packument {
  readonly name: string
  /** The short form says nothing about times, people, licenses and descriptions. */
  readonly form: 'full' | 'abbreviated'
  readonly tags: ReadonlyMap<string, string>
  readonly releases: ReadonlyMap<string, Release>
  readonly createdAt: number | null
  readonly description: string | null
  readonly keywords: readonly string[]
  readonly maintainers: readonly string[]
  readonly repository: string | null
}

/** One version of a package. Null is what the registry does not say. */
export interface Release {
  readonly version: string
  readonly integrity: string | null
  readonly tarball: string | null
  readonly deprecated: string | null
  readonly license: string | null
  /** The range of Node versions it wants. */
  readonly engines: string | null
  readonly hasInstallScript: boolean | null
  readonly publishedAt: number | null
  readonly publisher: string | null
  /** The registry holds a signed statement about where it was built. Mirrors drop it, so its absence says nothing. */
  readonly attested: true | null
  readonly unpackedBytes: number | null
}

type Raw = Readonly<Record<string, unknown>>

/** Undefined when it is no packument at all. Some registries send times in the short form too, so it is told what was asked. */
export function readPackument(raw: unknown, name: string, asked: Packument['form']): Packument | undefined {
  if (!isObject(raw) || !isObject(raw.versions) || raw.name !== name) return undefined
  const times = objectOf(raw.time)
  const form = isObject(raw.time) ? asked : 'abbreviated'
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

/** A version goes to npm as a word of its command line, so what a registry calls one must be one. */
export const isVersion = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 128 && valid(value) === value

const TAG_NAME = /^[\w.-]{1,64}$/

/** A package whose owner removed the tag still has a newest version. */
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
    tarball: textOf(dist.tarball),
    deprecated: deprecationOf(raw.deprecated),
    license: licenseOf(raw.license ?? raw.licenses),
    engines: textOf(objectOf(raw.engines).node, 200),
    hasInstallScript: installScriptOf(raw, form),
    publishedAt: timeOf(own(times, version)),
    publisher: personOf(raw._npmUser),
    attested: isObject(dist.attestations) ? true : null,
    unpackedBytes: typeof dist.unpackedSize === 'number' ? dist.unpackedSize : null,
  }
}

/** The full form repeats package.json, so what is not there does not exist. The short form may just not say it. */
function installScriptOf(raw: Raw, form: Packument['form']): boolean | null {
  if (typeof raw.hasInstallScript === 'boolean') return raw.hasInstallScript
  if (form === 'abbreviated') return null
  const scripts = objectOf(raw.scripts)
  return ['preinstall', 'install', 'postinstall'].some((name) => textOf(own(scripts, name)) !== null)
}

/** npm writes `true` for a deprecation without words, and an empty text for one that was taken back. */
function deprecationOf(value: unknown): string | null {
  return value === true ? 'no reason given' : textOf(value)
}

/** A name, or the object and the list of objects that old packages have. */
export function licenseOf(value: unknown): string | null {
  if (Array.isArray(value)) return value.map(licenseOf).find((found) => found !== null) ?? null
  return textOf(isObject(value) ? (value.type ?? value.name) : value, 200)
}

export const repositoryOf = (value: unknown): string | null => textOf(isObject(value) ? value.url : value)

/** `{name}`, `{username}`, or `Jo <jo@x.example>`: without the address, which nobody needs to see. */
export function personOf(value: unknown): string | null {
  const name = isObject(value) ? (value.username ?? value.name) : value
  return typeof name === 'string' ? textOf(name.replace(/[<(].*$/s, '').trim(), 200) : null
}

const peopleOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.slice(0, 100).flatMap((one) => personOf(one) ?? []) : []

export const isObject = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const objectOf = (value: unknown): Raw => (isObject(value) ? value : {})

/** A name from outside as a key: `constructor` is not among the facts about a package. */
export const own = (raw: Raw, key: string): unknown => (Object.hasOwn(raw, key) ? raw[key] : undefined)

/** A text that says something, cut to what an answer can carry. */
export const textOf = (value: unknown, max = 2000): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.slice(0, max) : null

export function textsOf(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(/[\s,]+/) : Array.isArray(value) ? value : []
  return list.slice(0, 100).flatMap((one) => textOf(one, 200) ?? [])
}

export function timeOf(value: unknown): number | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}
