import { createHash } from 'node:crypto'
import { validRange } from 'semver'
import { AppError } from '../kernel/errors.ts'
import { maskText } from '../kernel/secrets/secrets.ts'
import { slugOf } from '../kernel/wire.ts'

/** What somebody wants to have: a package of a registry, by an exact version or by a tag. */
export interface Spec {
  readonly name: string
  readonly wanted: string
  readonly kind: 'version' | 'tag'
}

/**
 * The only door through which a name may reach npm. npm itself takes far more: `-g` is a tag to it, `user/repo` a git
 * repository, `../x` a folder. So the grammar is our own, and what it does not name is refused.
 */
export function parseSpec(name: string, version?: string): Spec {
  const at = version === undefined ? name.indexOf('@', 1) : -1
  if (at > 0 && isPackageName(name.slice(0, at))) return parseSpec(name.slice(0, at), name.slice(at + 1))
  if (!isPackageName(name)) throw notAName(name)
  const wanted = version ?? 'latest'
  const kind = kindOf(wanted)
  if (kind === undefined) throw notAVersion(name, wanted)
  return { name, wanted, kind }
}

/** As new packages are named on npm, in ASCII and lower case, and nothing that npm or a file system reads otherwise. */
export function isPackageName(text: string): boolean {
  if (text.length > MAX_NAME || !NAME.test(text)) return false
  return text.replace('@', '').split('/').every(isPlainPart)
}

/** The same package always has the same id, and no two share one: a name that the slug changes gets a mark of its own. */
export function idOf(name: string): string {
  const slug = slugOf(name)
  if (slug === name) return slug
  const mark = createHash('sha256').update(name).digest('hex').slice(0, MARK)
  return `${slug.slice(0, MAX_ID - MARK - 1).replace(/[-.]+$/, '')}-${mark}`
}

const MAX_NAME = 214
const MAX_ID = 64
const MARK = 6
const NAME = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/
/** Folders of npm, a page that browsers ask for, and names that are devices on Windows. */
const RESERVED = /^(?:node_modules|favicon\.ico|(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?)$/
/** npm reads `x.tgz` as a file. Windows cannot keep a dot at the end of a name. */
const MISREAD = /\.\.|\.$|\.(?:tgz|tar|tar\.gz)$/

const isPlainPart = (part: string) => !RESERVED.test(part) && !MISREAD.test(part)

const VERSION =
  /^(?:0|[1-9]\d{0,14})(?:\.(?:0|[1-9]\d{0,14})){2}(?:-(?:0|[1-9]\d*|\d*[a-z-][0-9a-z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-z-][0-9a-z-]*))*)?$/i
const MAX_VERSION = 128
const TAG = /^[a-z][a-z0-9._-]{0,63}$/

/** `v1`, `x` and `1.x` are ranges to npm, which is why no tag may look like one. */
function kindOf(wanted: string): Spec['kind'] | undefined {
  if (wanted.length <= MAX_VERSION && VERSION.test(wanted)) return 'version'
  return TAG.test(wanted) && validRange(wanted, { loose: true }) === null ? 'tag' : undefined
}

function notAName(name: string): AppError {
  return new AppError('invalid_package_spec', `'${shown(name)}' is not the name of an npm package`, {
    hint: "Write it as npm does, such as 'server-memory' or '@scope/name'; files, URLs, git addresses and options are not taken",
  })
}

function notAVersion(name: string, version: string): AppError {
  return new AppError('invalid_package_spec', `'${shown(version)}' is not a version of '${name}'`, {
    hint: "Write an exact version such as '1.2.3', or a tag such as 'latest'; ranges, aliases and addresses are not taken",
  })
}

/** Whatever was sent, in a length and with characters that a sentence can carry. */
function shown(text: string): string {
  const masked = maskText(text.slice(0, 200)).replace(/[^\x20-\x7e]/g, '\ufffd')
  return masked.length > 80 ? `${masked.slice(0, 80)}…` : masked
}
