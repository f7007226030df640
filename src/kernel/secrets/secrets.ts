/** Recognises and masks secrets in everything that leaves the service or is logged. */

export const MASK = '***'

/** Called with a secret that was found. Returns its replacement. */
type Found = (secret: string) => string
const hide: Found = () => MASK

const SECRET_WORD = /token|key|secret|passwd|password|passphrase|credential|auth/i
const FLAG = /^--?[\w.-]{1,256}$/
/** The name in `--token=abc`, `API_KEY=abc`, `X-Api-Key: abc`. */
const NAME_BEFORE = /^[\w.-]{1,256}(?=\s{0,8}[=:])/
const GAP_BEFORE_VALUE = /^\s{0,8}[=:]\s{0,8}(?:(?:Bearer|Basic)\s{1,8})?/i
const BEARER = /\b(Bearer|Basic)(\s+)([A-Za-z0-9._~+/=-]{4,})/gi
const URL_IN_TEXT = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'<>]+/gi
const ANOTHER_FLAG = /^--[a-z-]+$/

/** Keys with a prefix that their issuer added to make them recognisable. */
const KEY_SHAPES = new RegExp(
  [
    'sk-[A-Za-z0-9_-]{16,}',
    '(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}',
    'gh[pousr]_[A-Za-z0-9]{20,}',
    'github_pat_[A-Za-z0-9_]{20,}',
    'glpat-[A-Za-z0-9_-]{16,}',
    'xox[abeoprs]-[A-Za-z0-9-]{10,}',
    '(?:AKIA|ASIA)[A-Z0-9]{16}',
    'AIza[A-Za-z0-9_-]{30,}',
    'npm_[A-Za-z0-9]{30,}',
    'hf_[A-Za-z0-9]{20,}',
    '(?:lin_api|ntn|secret|pplx|tvly|r8|dop_v1|shpat)_[A-Za-z0-9]{20,}',
    // Not after - or _, which are part of it: each would start another scan to the end of the text.
    '(?<![_-])eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]*',
  ]
    .map((shape) => `(?<![A-Za-z0-9])${shape}`)
    .join('|'),
  'g',
)
/** At least 32 letters and digits mixed: right for an argument or a URL, too eager for a log line. */
const RANDOM_WORD = /(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}(?![A-Za-z0-9])/g

/** Masks every value of a map such as env or headers. */
export function maskValues(map: Readonly<Record<string, string>>): Record<string, typeof MASK> {
  return Object.fromEntries(Object.keys(map).map((key) => [key, MASK]))
}

/** Arguments with their secrets masked. The rest stays readable. */
export function maskArgs(args: readonly string[], found: Found = hide): string[] {
  return args.map((arg, index) => maskArg(arg, args[index - 1], found))
}

function maskArg(arg: string, before: string | undefined, found: Found): string {
  const isValue = before !== undefined && FLAG.test(before) && SECRET_WORD.test(before)
  if (isValue && !ANOTHER_FLAG.test(arg)) return found(arg)
  const named = secretAssignment(arg)
  if (named) return `${named.name}${found(named.value)}`
  const urls = arg.replace(URL_IN_TEXT, (url) => maskUrl(url, found))
  return maskShapes(urls, found).replace(RANDOM_WORD, found)
}

/** Splits `--token=abc` into `--token=` and `abc`. Undefined if the name does not suggest a secret. */
function secretAssignment(arg: string): { name: string; value: string } | undefined {
  const name = NAME_BEFORE.exec(arg)?.[0]
  if (name === undefined || !SECRET_WORD.test(name)) return undefined
  const gap = GAP_BEFORE_VALUE.exec(arg.slice(name.length))?.[0] ?? ''
  const value = arg.slice(name.length + gap.length)
  return value === '' || value.startsWith('//') ? undefined : { name: name + gap, value }
}

/** A URL with user info, query values, fragment, and keys in the path masked. */
export function maskUrl(url: string, found: Found = hide): string {
  const parts = /^([^:]+:\/\/)(?:([^/?#]*)@)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url)
  if (!parts) return found(url)
  const [, scheme, user, host, path = '', query = '', fragment = ''] = parts
  const values = query.replace(/=([^&]+)/g, (_, value: string) => `=${found(decoded(value))}`)
  const bare = query && !query.includes('=') && query.length > 1 ? `?${found(query.slice(1))}` : values
  const shown = maskShapes(path, found).replace(RANDOM_WORD, found)
  return `${scheme}${user ? `${found(user)}@` : ''}${host}${shown}${bare}${fragment.length > 1 ? `#${found(fragment.slice(1))}` : fragment}`
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value // not percent-encoded: the raw text is the secret
  }
}

/** Free text, such as a log line: masks only what is certainly a secret. */
export function maskText(text: string): string {
  return maskShapes(text, hide)
    .replace(SECRET_IN_TEXT, (_, name: string, quote: string) => `${name}${quote}${MASK}${quote}`)
    .replace(USER_IN_URL, `$1${MASK}@`)
}
const SECRET_IN_TEXT =
  /((?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token|private[_-]?key)["']?\s*[=:]\s*)(["']?)(?!\*\*\*)[^\s"',;&}]{3,}\2/gi
const USER_IN_URL = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@:]*:[^\s/@]+@/gi

function maskShapes(text: string, found: Found): string {
  const bearers = text.replace(
    BEARER,
    (_, kind: string, gap: string, token: string) => kind + gap + found(token),
  )
  return bearers.replace(KEY_SHAPES, found)
}

/** The fields of a definition that may contain a secret. */
export interface Carrier {
  readonly env?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  readonly url?: string
}

/** Every secret in a server's definition, for redaction of log lines. */
export function secretsIn(carrier: Carrier): string[] {
  const secrets: string[] = []
  const collect: Found = (secret) => {
    secrets.push(secret)
    return MASK
  }
  for (const [name, value] of Object.entries(carrier.env ?? {})) {
    if (!isPlainSetting(name, value)) secrets.push(value)
  }
  for (const value of Object.values(carrier.headers ?? {})) {
    secrets.push(value, value.replace(/^(?:Bearer|Basic|Token)\s+/i, ''))
  }
  if (carrier.args) maskArgs(carrier.args, collect)
  if (carrier.url !== undefined) maskUrl(carrier.url, collect)
  return secrets
}

/** `NODE_ENV=production` is not a secret, and masking the word would make log lines unreadable. */
function isPlainSetting(name: string, value: string): boolean {
  if (SECRET_WORD.test(name)) return false
  return /^(?:[a-z]{1,12}|[\d.:]{1,15}|(?:\/|~\/|\.{1,2}\/)[\w./ -]*)$/.test(value)
}
