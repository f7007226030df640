/** How programs say that they could not reach a file or the network: Node, Python, Go, shells, Chromium and the servers themselves. */

const FORBIDDEN = 'EACCES|EPERM|[Pp]ermission denied'
const READ_ONLY = `EROFS|[Rr]ead-only file system|${FORBIDDEN}`
/** What the system says of a missing path, which may be one that the program wanted to create. */
const ABSENT = 'ENOENT|[Nn]o such file or directory'
/** What programs say of a missing path that they wanted to use. */
const UNFOUND =
  "(?:does not|doesn't|did not|not) exist|[Nn]ot found|[Nn]o files matching|[Cc](?:annot|an't|ould not) (?:access|find|open|read)"
const ANY = `${READ_ONLY}|${ABSENT}|${UNFOUND}`

const QUOTED = `['"‘\`]([/~][^'"‘’\`\\n]{0,1000})['"’\`]`
const UNQUOTED = `(~?/[^\\s,;:'"\`()\\\\]{1,1000})`

interface Said {
  readonly error: string
  readonly path: string
}

/** `EROFS: read-only file system, open '/a'`; `'/a': Read-only file system`; `Cannot access directory /a`; `/a does not exist`. */
const BEFORE = [
  new RegExp(`(${ANY})[^\\n'"‘’\`]{0,100}${QUOTED}`, 'g'),
  new RegExp(`(${ANY})[^\\n/~'"‘\`]{0,60}${UNQUOTED}`, 'g'),
]
const AFTER = [
  new RegExp(`${QUOTED}:? (${ANY})`, 'g'),
  new RegExp(`(?<=^|[\\s(])${UNQUOTED}:? (${ANY})`, 'g'),
]

export function* pathsIn(line: string): Iterable<Said> {
  for (const form of BEFORE)
    for (const [, error = '', path = ''] of line.matchAll(form)) yield { error, path }
  for (const form of AFTER) for (const [, path = '', error = ''] of line.matchAll(form)) yield { error, path }
}

export const isReadOnly = (error: string): boolean => IS_READ_ONLY.test(error)
const IS_READ_ONLY = new RegExp(`^(?:${READ_ONLY})$`)

/** Whether the rights of the user may be the reason, which are the same outside of the isolation. */
export const mayBeForbidden = (error: string): boolean => IS_FORBIDDEN.test(error)
const IS_FORBIDDEN = new RegExp(`^(?:${FORBIDDEN})$`)

/** Whether the missing path may be one that the program wanted to create. */
export const mayCreate = (error: string, line: string): boolean =>
  IS_ABSENT.test(error) && !ONLY_LOOKS.test(line)
const IS_ABSENT = new RegExp(`^(?:${ABSENT})$`)
/** The calls of Node that create nothing. */
const ONLY_LOOKS =
  /ENOENT[^\n']{0,60} (?:access|stat|lstat|scandir|opendir|readlink|realpath|unlink|rmdir|chdir|watch) '/

/** `spawn kubectl ENOENT`; `sh: 1: kubectl: not found`. */
export function* programsIn(line: string): Iterable<string> {
  for (const form of PROGRAMS) for (const [, name = ''] of line.matchAll(form)) yield name
}
const PROGRAMS = [
  /\bspawn(?:Sync)? ([^\s'"]{1,300}) ENOENT/g,
  /\b(?:ba|da|z)?sh: (?:line )?(?:\d{1,6}: )?([^\s:'"]{1,300}): (?:command )?not found/g,
]

/** The line says that something could not be reached over the network. Loopback in isolation is another one than outside. */
export const isNetworkError = (line: string): boolean => NETWORK.test(line)
const NETWORK = new RegExp(
  [
    '\\b(?:ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED)\\b',
    '[Nn]etwork is unreachable|[Cc]onnection refused|[Nn]o such host|[Nn]ame or service not known',
    '[Tt]emporary failure in name resolution|[Cc]ould not resolve host|DNS temporarily unavailable',
    '\\bfetch failed\\b|\\b[Ff]ailed to fetch\\b',
    'net::ERR_(?:CONNECTION_REFUSED|NAME_NOT_RESOLVED|INTERNET_DISCONNECTED|ADDRESS_UNREACHABLE)',
  ].join('|'),
)

/** The most telling one of some lines about the network: one that names what was to be reached. */
export const networkEvidence = (lines: readonly string[]): string | undefined =>
  lines.find((line) => NAMES_HOST.test(line)) ?? lines.find((line) => !IS_FIELD.test(line)) ?? lines[0]
const NAMES_HOST = /getaddrinfo \S+ \S|connect E[A-Z]+ \S|net::ERR_\w+ at \S|https?:\/\//
/** `code: 'EAI_AGAIN',` of a printed error. */
const IS_FIELD = /^\s*\w{1,20}: /
