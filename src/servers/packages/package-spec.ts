import { createHash } from 'node:crypto'
import { gt, valid, validRange } from 'semver'
import { AppError } from '../../kernel/errors.ts'
import { slugOf } from '../../kernel/rest-parts.ts'
import { maskText } from '../../kernel/secrets/mask-secrets.ts'

/** A package of a registry, with an exact version or a tag. */
export interface Spec {
  readonly name: string
  readonly requested: string
  readonly kind: 'version' | 'tag'
}

/**
 * Every name passes through here before it reaches npm. npm accepts far more: it takes `-g` for a tag, `user/repo` for a
 * git repository and `../x` for a folder. This grammar accepts only names, versions and tags.
 */
export function parseSpec(name: string, version?: string): Spec {
  const at = version === undefined ? name.indexOf('@', 1) : -1
  if (at > 0 && isPackageName(name.slice(0, at))) return parseSpec(name.slice(0, at), name.slice(at + 1))
  if (!isPackageName(name)) throw notAName(name)
  const requested = version ?? 'latest'
  const kind = kindOf(requested)
  if (kind === undefined) throw notAVersion(name, requested)
  return { name, requested, kind }
}

/** npm's rules for new packages (ASCII, lower case), minus names that npm or a file system interprets differently. */
export function isPackageName(text: string): boolean {
  if (text.length > MAX_NAME || !NAME.test(text)) return false
  return text.replace('@', '').split('/').every(isPlainPart)
}

/** One id per package: a name that differs from its slug gets a digest suffix, so that no two names share an id. */
export function idOf(name: string): string {
  const slug = slugOf(name)
  if (slug === name) return slug
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_CHARS)
  return `${slug.slice(0, MAX_ID - DIGEST_CHARS - 1).replace(/[-.]+$/, '')}-${digest}`
}

const MAX_NAME = 214
const MAX_ID = 64
const DIGEST_CHARS = 6
const NAME = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/
/** A folder of npm, a path that browsers request, and device names of Windows. */
const RESERVED = /^(?:node_modules|favicon\.ico|(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?)$/
/** npm takes `x.tgz` for a file. Windows drops a dot at the end of a name. */
const MISREAD = /\.\.|\.$|\.(?:tgz|tar|tar\.gz)$/

const isPlainPart = (part: string) => !RESERVED.test(part) && !MISREAD.test(part)

const VERSION =
  /^(?:0|[1-9]\d{0,14})(?:\.(?:0|[1-9]\d{0,14})){2}(?:-(?:0|[1-9]\d*|\d*[a-z-][0-9a-z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-z-][0-9a-z-]*))*)?$/i
const MAX_VERSION = 128
const TAG = /^[a-z][a-z0-9._-]{0,63}$/

/** A tag must not look like a range: npm takes `v1`, `x` and `1.x` for ranges. */
function kindOf(requested: string): Spec['kind'] | undefined {
  if (requested.length <= MAX_VERSION && VERSION.test(requested)) return 'version'
  return TAG.test(requested) && validRange(requested, { loose: true }) === null ? 'tag' : undefined
}

function notAName(name: string): AppError {
  return new AppError('invalid_package_spec', `'${shown(name)}' is not the name of an npm package`, {
    hint: "Write it as npm does, such as 'server-memory' or '@scope/name'; files, URLs, git addresses and options are not accepted",
  })
}

function notAVersion(name: string, version: string): AppError {
  return new AppError('invalid_package_spec', `'${shown(version)}' is not a version of '${name}'`, {
    hint: "Write an exact version such as '1.2.3', or a tag such as 'latest'; ranges, aliases and addresses are not accepted",
  })
}

/** Input for an error text: secrets masked, ASCII only, at most 80 characters. */
function shown(text: string): string {
  const masked = maskText(text.slice(0, 200)).replace(/[^\x20-\x7e]/g, '\ufffd')
  return masked.length > 80 ? `${masked.slice(0, 80)}…` : masked
}

/** Whether the latest version is known and newer than the installed one. */
export const isNewer = (latest: string | null, installed: string): boolean =>
  latest !== null && valid(latest) !== null && valid(installed) !== null && gt(latest, installed)
