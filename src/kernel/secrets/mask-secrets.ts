import { isOnlyReference } from './references.ts'

/** Recognises and masks secrets in everything that leaves the service or is logged. */

export const MASK = '***'

/** Called with a secret that was found. Returns its replacement. */
type Found = (secret: string) => string
const hide: Found = () => MASK

/**
 * In a `command` every value with a secret name is masked. In the `log`, words and numbers that may be prose stay:
 * `unexpected token: end`, `tokens=1523`.
 */
type Kind = 'log' | 'command'

const BEARER = /\b(Bearer|Basic)(\s+)([A-Za-z0-9._~+/=-]{4,})/gi
const URL_IN_TEXT = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'<>]+/gi

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

/** Masks every value of a map such as env or headers, except a reference, which is not a secret itself. */
export function maskValues(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(map).map(([key, value]) => [key, isOnlyReference(value) ? value : MASK]),
  )
}

/** Arguments with their secrets masked. The rest stays readable. */
export function maskArgs(args: readonly string[], found: Found = hide): string[] {
  return args.map((arg, index) => maskArg(arg, args[index - 1], found))
}

/** A program. Users put whole command lines with tokens there. */
export const maskCommand = (command: string): string => maskArg(command, undefined, hide)

/** One argument, given the one before it. */
export function maskArg(arg: string, before: string | undefined, found: Found): string {
  if (isOnlyReference(arg)) return arg
  if (before !== undefined && isSecretAfter(before, arg))
    return before === '-p' && PACKAGE.test(arg) ? MASK : found(arg)
  const attached = ATTACHED.exec(arg)
  if (attached) return `-p${found(attached[1] ?? '')}`
  const named = secretAssignment(arg)
  if (named) return `${named.name}${found(named.value)}`
  return maskText(arg, found, 'command').replace(RANDOM_WORD, found)
}
/** `npx -p package`. It is masked like a password, but it may appear in log lines. */
const PACKAGE = /^(?:@[a-z0-9-]+\/)?[a-z][a-z-]*(?:@[\w.-]+)?$/
/** `mysql -phunter2`. A flag such as `-port` has only small letters. */
const ATTACHED = /^-p(?![a-z-]*$)(.+)$/s

/** The name in `--token=abc`, `API_KEY=abc`, `X-Api-Key: abc`. */
const NAME_BEFORE = /^[\w.-]{1,256}(?=\s{0,8}[=:])/
const GAP_BEFORE_VALUE = /^\s{0,8}[=:]\s{0,8}(?:(?:Bearer|Basic)\s{1,8})?/i

/** Splits `--token=abc` into `--token=` and `abc`. Undefined if the name does not suggest a secret. */
function secretAssignment(arg: string): { name: string; value: string } | undefined {
  const name = NAME_BEFORE.exec(arg)?.[0]
  if (name === undefined) return undefined
  const gap = GAP_BEFORE_VALUE.exec(arg.slice(name.length))?.[0] ?? ''
  const value = arg.slice(name.length + gap.length)
  if (!isSecretName(name) && !isSecretAfter(name, value)) return undefined
  return value === '' || value.startsWith('//') ? undefined : { name: name + gap, value }
}

/** A URL with user info, query values, fragment, and keys in the path masked. */
export function maskUrl(url: string, found: Found = hide): string {
  return isOnlyReference(url) ? url : maskUrlParts(url, found, 'command')
}

function maskUrlParts(url: string, found: Found, kind: Kind): string {
  const parts = /^([^:]+:\/\/)(?:([^/?#]*)@)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url)
  if (!parts) return found(url)
  const [, scheme, user, host, path = '', query = '', fragment = ''] = parts
  const values = query.replace(/=([^&]+)/g, (_, value: string) => `=${found(decoded(value))}`)
  const bare = query && !query.includes('=') && query.length > 1 ? `?${found(query.slice(1))}` : values
  const shapes = maskShapes(path, found)
  const shown = kind === 'log' ? shapes : shapes.replace(RANDOM_WORD, found)
  // A log line often names a section of a page.
  const end = fragment.length > 1 && kind !== 'log' ? `#${found(fragment.slice(1))}` : fragment
  return `${scheme}${user ? `${found(user)}@` : ''}${host}${shown}${bare}${end}`
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value // not percent-encoded: the raw text is the secret
  }
}

/** Text with its secrets masked: an argument, a command line, a log line. */
export function maskText(text: string, found: Found = hide, kind: Kind = 'log'): string {
  const withoutShapes = maskShapes(text, found)
  const withoutUrls = withoutShapes.includes('://')
    ? withoutShapes.replace(URL_IN_TEXT, (url) => maskUrlParts(url, found, kind))
    : withoutShapes
  return maskAfterFlags(maskNamed(withoutUrls, found, kind), found, kind)
}

function maskShapes(text: string, found: Found): string {
  const bearers = text.replace(
    BEARER,
    (_, type: string, gap: string, token: string) => type + gap + found(token),
  )
  return bearers.replace(KEY_SHAPES, found)
}

/** Whether a text contains a key with the prefix of its issuer. */
export function hasKeyShape(text: string): boolean {
  KEY_SHAPES.lastIndex = 0
  return KEY_SHAPES.test(text)
}

/** `token=…`, `"token": "…"`, `export X=…`. A name begins after a character that cannot be part of one. */
const NAMED =
  /(?<![\w.-])-{0,2}([A-Za-z_][\w.-]{0,255})\\{0,4}["']?\s{0,8}(?:=(?!=)|:(?!:|\/\/))\s{0,8}(?:(?:Bearer|Basic)\s{1,8})?/gi
const EXPORT = /(?:^|[\s;&|("'`])export\s{1,8}$/

function maskNamed(text: string, found: Found, kind: Kind): string {
  const isRelevant = (name: string, at: number) =>
    isSecretName(name) || EXPORT.test(text.slice(Math.max(0, at - 20), at))
  return replaceValues(text, NAMED, isRelevant, (name, value) => {
    if (!isSecretName(name)) return MASK // exported, but not certainly a secret: log lines may contain it
    return kind === 'log' && !isCertainlySecret(name) && isProse(value) ? value : found(value)
  })
}

/** `--token …` inside a text. */
const FLAGGED = /(?<![\w.-])(-{1,2}[A-Za-z][\w.-]{0,255})\s{1,8}(?=[^\s-])/g

function maskAfterFlags(text: string, found: Found, kind: Kind): string {
  if (!text.includes('-')) return text
  const isRelevant = (flag: string) => isSecretAfter(flag, ':') && !(kind === 'log' && flag === '-p')
  return replaceValues(text, FLAGGED, isRelevant, (flag, value) => {
    const isShown = !isSecretAfter(flag, value) || (kind === 'log' && isProse(value))
    return isShown ? value : found(value)
  })
}

/** A word or a number of a sentence rather than a secret. */
const isProse = (value: string): boolean => /^(?:[a-z]{1,12}|[\d.,]{1,12}|.{1,2})[.,;:!?)]?$/.test(value)

/**
 * Replaces the value after each match of `pattern` whose first group is a relevant name. In linear time: a value is
 * read once, the search goes on after it, and a value that is not closed is the rest of the text.
 */
function replaceValues(
  text: string,
  pattern: RegExp,
  isRelevant: (name: string, at: number) => boolean,
  replacement: (name: string, value: string) => string,
): string {
  let out = ''
  let done = 0
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [all, name = ''] = match
    if (!isRelevant(name, match.index)) continue
    const { start, end } = valueAt(text, match.index + all.length)
    pattern.lastIndex = end
    const value = text.slice(start, end)
    if (value === '' || value === MASK) continue
    out += text.slice(done, start) + replacement(name, value)
    done = end
  }
  return done === 0 ? text : out + text.slice(done)
}

const END_OF_WORD = /[\s"',;&})\]]/g
const OPENING = /\\{0,4}["'`]/y

/** A value in quotes or brackets, without them, or a word. */
function valueAt(text: string, at: number): { start: number; end: number } {
  OPENING.lastIndex = at
  const quote = OPENING.exec(text)?.[0]
  if (quote !== undefined) return { start: at + quote.length, end: closing(text, quote, at + quote.length) }
  if (text[at] === '{') return { start: at, end: at } // its members have names of their own
  if (text[at] === '[') {
    const close = text.indexOf(']', at)
    return { start: at + 1, end: close === -1 ? text.length : close }
  }
  END_OF_WORD.lastIndex = at
  return { start: at, end: END_OF_WORD.exec(text)?.index ?? text.length }
}

/** In `"a\"b"` the second quote is part of the value; in `\"a\"`, a string inside a string, it is the end. */
function closing(text: string, quote: string, from: number): number {
  const sign = quote.slice(-1)
  for (let at = text.indexOf(sign, from); at !== -1; at = text.indexOf(sign, at + 1)) {
    let escapes = 0
    while (at - escapes > from && text[at - escapes - 1] === '\\') escapes += 1
    if (escapes < quote.length || sign !== '"') return at - Math.min(escapes, quote.length - 1)
  }
  return text.length
}

/** The fields of a definition that may contain a secret. */
export interface Carrier {
  readonly command?: string
  readonly env?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  readonly url?: string
  readonly oauth?: { readonly client_secret?: string; readonly private_key?: string } | null
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
  for (const secret of [carrier.oauth?.client_secret, carrier.oauth?.private_key])
    if (secret !== undefined) secrets.push(secret)
  if (carrier.command !== undefined) maskArgs([carrier.command], collect)
  if (carrier.args) maskArgs(carrier.args, collect)
  if (carrier.url !== undefined) maskUrl(carrier.url, collect)
  return secrets.filter((secret) => !isOnlyReference(secret))
}

/** `NODE_ENV=production` is not a secret, and masking the word would make log lines unreadable. */
export function isPlainSetting(name: string, value: string): boolean {
  if (isSecretName(name)) return false
  return /^(?:[a-z]{1,12}|[\d.:]{1,15}|(?:\/|~\/|\.{1,2}\/)[\w./ -]*)$/.test(value)
}

/** Parts of the names of secrets. `author`, `bypass`, `passive` and the like have another meaning. */
const PARTS = new RegExp(
  [
    'token|key|secret|passphrase|pwd|bearer|jwt|session|cookie|cred|dsn|signature',
    'auth(?!or(?!i[sz]))',
    '(?<!by|com|tres)pass(?!ive|ing|thr|age|enger)',
  ].join('|'),
  'i',
)
/** Whole words only: `path` and `design` contain them. */
const WORDS = /(?:^|[^a-z])(?:pat|sig)s?(?![a-z])/i
const WORDS_IN_CAMEL_CASE = /[a-z](?:Pat|Sig)s?(?![a-z])/

/** Whether a value with this name is a secret: `--api-key`, `DB_PASSWORD`, `githubPat`. */
export const isSecretName = (name: string): boolean =>
  PARTS.test(name) || WORDS.test(name) || WORDS_IN_CAMEL_CASE.test(name)

/** Names whose value is a secret even in prose, where `token: expired` is none. */
const isCertainlySecret = (name: string): boolean =>
  /passw|passphrase|secret|(?:api|private|access|secret|auth)[_-]?(?:key|token)/i.test(name)

const FLAG = /^--?[\w.-]{1,256}$/
const ANOTHER_FLAG = /^--[a-z-]+$/
const WITH_USER = /^(?:-u|--(?:proxy-)?user)$/

/** Whether the argument after this flag is a secret. A user is one only with a password; `1000:1000` are numbers. */
function isSecretAfter(flag: string, value: string): boolean {
  if (!FLAG.test(flag) || ANOTHER_FLAG.test(value)) return false
  if (WITH_USER.test(flag)) return value.includes(':') && !/^\d+:\d+$/.test(value)
  return flag === '-p' || isSecretName(flag)
}
