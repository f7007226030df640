import { createHash } from 'node:crypto'
import { rcompare } from 'semver'
import { tarball } from './tar.ts'

/** One version of a package. Versions of one name form one package. */
export interface TestPackage {
  readonly name: string
  readonly version: string
  /** package.json, without name and version. */
  readonly manifest?: Readonly<Record<string, unknown>>
  /** What the registry shows instead of the fields of package.json. A publisher can make the two differ. */
  readonly shown?: Readonly<Record<string, unknown>>
  readonly files?: Readonly<Record<string, string>>
  readonly publishedAt?: string
  readonly deprecated?: string
  readonly publisher?: string
  /** A provenance attestation. */
  readonly provenance?: boolean
  readonly downloadsWeekly?: number
  /** Tags that point at this version. Without any, `latest` is the highest version that is not a prerelease. */
  readonly tags?: readonly string[]
}

const OLD_ENOUGH = '2025-03-01T10:00:00.000Z'
const byAge = (a: TestPackage, b: TestPackage) => rcompare(a.version, b.version)
const shortOf = (name: string) => name.replace(/^@[^/]+\//, '')
export const fileOf = ({ name, version }: TestPackage) => `${shortOf(name)}-${version}.tgz`

export function packed(one: TestPackage): Buffer {
  const manifest = { name: one.name, version: one.version, ...one.manifest }
  const files = { 'package.json': `${JSON.stringify(manifest, null, 2)}\n`, ...one.files }
  return tarball(files, Object.values((one.manifest?.bin ?? {}) as Record<string, string>))
}

/** The response to `GET /name`, in the long form or as `application/vnd.npm.install-v1+json`. */
export function packumentOf(all: readonly TestPackage[], url: string, form: 'full' | 'abbreviated') {
  const versions = [...all].sort(byAge)
  const [newest] = versions
  if (!newest) throw new Error('a package without a version')
  const times = versions.map(({ publishedAt = OLD_ENOUGH }) => publishedAt).sort()
  const modified = times.at(-1)
  const documents = versions.map((one) => [one.version, versionDocument(one, url, form)])
  const common = {
    name: newest.name,
    'dist-tags': tagsOf(versions),
    versions: Object.fromEntries(documents),
  }
  if (form === 'abbreviated') return { ...common, modified }
  const time = Object.fromEntries(versions.map((one) => [one.version, one.publishedAt ?? OLD_ENOUGH]))
  const { description, keywords, license, repository } = newest.manifest ?? {}
  return {
    _id: newest.name,
    ...common,
    time: { created: times[0], modified, ...time },
    maintainers: [{ name: newest.publisher ?? 'toolsmith', email: 'toolsmith@tools.example' }],
    description,
    keywords,
    license,
    repository,
  }
}

function tagsOf(versions: readonly TestPackage[]): Record<string, string> {
  const [newest] = [...versions].sort(byAge)
  const stable = [...versions].sort(byAge).find(({ version }) => !version.includes('-')) ?? newest
  const named = versions.flatMap(({ tags = [], version }) => tags.map((tag) => [tag, version]))
  return { latest: stable?.version ?? '', ...Object.fromEntries(named) }
}

const SHORT_FORM = [
  ...['bin', 'dependencies', 'optionalDependencies', 'peerDependencies', 'peerDependenciesMeta'],
  ...['bundleDependencies', 'engines', 'os', 'cpu'],
]

function versionDocument(one: TestPackage, url: string, form: 'full' | 'abbreviated') {
  const body = packed(one)
  const hash = (name: string) => createHash(name).update(body)
  const scripts = Object.keys((one.manifest?.scripts ?? {}) as object)
  const hasInstallScript = scripts.some((name) => /^(?:pre|post)?install$/.test(name))
  const fields = Object.entries({ ...one.manifest, ...one.shown })
  return {
    name: one.name,
    version: one.version,
    ...Object.fromEntries(form === 'full' ? fields : fields.filter(([key]) => SHORT_FORM.includes(key))),
    ...(one.deprecated !== undefined && { deprecated: one.deprecated }),
    ...(form === 'full' && {
      _npmUser: { name: one.publisher ?? 'toolsmith', email: 'toolsmith@tools.example' },
    }),
    ...(form === 'abbreviated' && hasInstallScript && { hasInstallScript }),
    ...(one.files?.['npm-shrinkwrap.json'] !== undefined && { _hasShrinkwrap: true }),
    dist: {
      tarball: `${url}/${one.name}/-/${fileOf(one)}`,
      shasum: hash('sha1').digest('hex'),
      integrity: `sha512-${hash('sha512').digest('base64')}`,
      fileCount: Object.keys(one.files ?? {}).length + 1,
      unpackedSize: body.length,
      ...(one.provenance && { attestations: { url: `${url}/-/npm/v1/attestations/${one.name}` } }),
    },
  }
}

/** One hit of `/-/v1/search`. Verdaccio omits `version`. */
export function hitOf(all: readonly TestPackage[], withVersion: boolean) {
  const tags = tagsOf(all)
  const newest = all.find(({ version }) => version === tags.latest) ?? all[0]
  const { description, keywords, license } = newest?.manifest ?? {}
  const username = newest?.publisher ?? 'toolsmith'
  return {
    package: {
      name: newest?.name,
      ...(withVersion ? { version: tags.latest } : { 'dist-tags': tags }),
      description,
      keywords,
      license,
      date: newest?.publishedAt ?? OLD_ENOUGH,
      publisher: { username, email: 'toolsmith@tools.example' },
      maintainers: [{ username }],
      links: {},
    },
    ...(newest?.downloadsWeekly !== undefined && {
      downloads: { weekly: newest.downloadsWeekly, monthly: newest.downloadsWeekly * 4 },
    }),
    searchScore: 1,
  }
}
