import { existsSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, delimiter, dirname, isAbsolute, join, posix } from 'node:path'
import { isWritable } from '../../../kernel/files/foreign-file.ts'
import { isGrantable, isInside } from '../../../kernel/grantable-path.ts'
import { type IsolationOptions, SYSTEM_FOLDERS } from '../../../kernel/isolation-options.ts'

/** Something that the isolation of a server kept from it. */
export interface Refusal {
  readonly kind: 'read' | 'write' | 'network'
  /** What it would have to reach; null for the network. */
  readonly path: string | null
  readonly evidence: string
  /** In what it printed and answered, or among the files that it wrote in memory only. */
  readonly seen_in: 'errors' | 'lost_files'
}

/** What is outside of the isolation. */
export interface Outside {
  readonly home: string
  /** Toolroom's own folders. A server sees its package there, and nothing else. */
  readonly own: readonly string[]
  /** The working folder of the server. One that was started can read it, unless it is the home. */
  readonly cwd: string | null
  /** The PATH of the server. */
  readonly searchPath: string
}

const MAX_LINES = 2000
const MAX_LINE = 4000
export const MAX_EVIDENCE = 300
export const MAX_REFUSALS = 50

/**
 * The refusals in what a server has printed and answered. What is missing or forbidden outside of the isolation too is not
 * a refusal. What the server did not try is not seen.
 */
export function refusalsIn(
  texts: readonly string[],
  confinement: IsolationOptions,
  outside: Outside,
): Refusal[] {
  const found = new Map<string, Refusal>()
  const add = (kind: Refusal['kind'], path: string | null, line: string) => {
    const key = `${kind} ${path}`
    if (!found.has(key) && found.size < MAX_REFUSALS)
      found.set(key, { kind, path, evidence: line.trim().slice(0, MAX_EVIDENCE), seen_in: 'errors' })
  }
  const network: string[] = []
  const judged = new Set<string>()
  for (const line of linesOf(texts)) {
    if (isNetworkError(line)) network.push(line)
    for (const { error, path: said } of pathsIn(line)) {
      const isMade = mayCreate(error, line)
      const key = `${error} ${isMade} ${said}`
      if (judged.has(key)) continue
      judged.add(key)
      const path = absolute(said, outside.home)
      if (isReadOnly(error)) {
        const folder = existingFolder(path)
        if (!isOpen(folder, confinement.write, outside) && (!mayBeForbidden(error) || isWritable(folder)))
          add('write', folder, line)
      } else for (const [kind, file] of missing(path, isMade, confinement, outside)) add(kind, file, line)
    }
    for (const name of programsIn(line))
      for (const file of programFiles(name, outside.searchPath))
        if (!isSeen(file, confinement, outside)) add('read', readable(file), line)
  }
  const evidence = confinement.network === 'full' ? undefined : networkEvidence(network)
  if (evidence !== undefined) add('network', null, evidence)
  return [...found.values()]
}

function* linesOf(texts: readonly string[]): Iterable<string> {
  let count = 0
  for (const text of texts)
    for (const line of text.split('\n')) {
      count += 1
      if (count > MAX_LINES) return
      yield line.slice(0, MAX_LINE)
    }
}

/** What a path that was not found needs: to be readable if it exists, or a folder in which it can be made. */
function missing(
  path: string,
  isMade: boolean,
  confinement: IsolationOptions,
  outside: Outside,
): [Refusal['kind'], string][] {
  const folder = dirname(path)
  if (isSeen(path, confinement, outside)) return []
  if (existsSync(path)) return [['read', readable(path)]]
  return isMade && isFolder(folder) && isGrantable(folder, outside) ? [['write', folder]] : []
}

/** Sentences may end with a full stop. */
function absolute(said: string, home: string): string {
  const path = said.startsWith('~/') ? home + said.slice(1) : said
  return existsSync(path) ? path : path.replace(/[.\]]{1,3}$/, '')
}

/** The folder to grant for a file that is to be written: the nearest one that exists, as only such a folder can be granted. */
export function existingFolder(path: string): string {
  let folder = path
  while (folder !== '/' && !isFolder(folder)) folder = dirname(folder)
  return folder
}

/** A program needs the files beside it, unless they are other programs. */
function readable(path: string): string {
  const stats = statOf(path)
  const isProgram = stats?.isFile() === true && (stats.mode & 0o111) !== 0
  return isProgram && basename(dirname(path)) !== 'bin' ? dirname(path) : path
}

function programFiles(name: string, searchPath: string): string[] {
  const files = isAbsolute(name)
    ? [name]
    : searchPath.split(delimiter).flatMap((folder) => (isAbsolute(folder) ? [join(folder, name)] : []))
  const file = files.find((each) => statOf(each)?.isFile())
  return file === undefined ? [] : [...new Set([file, realpathSync(file)])]
}

/** Whether the isolated server can read the path. If it was not found all the same, it is missing outside too. */
const isSeen = (path: string, { read, write }: IsolationOptions, outside: Outside): boolean =>
  [...SYSTEM_FOLDERS, '/proc', '/dev', ...outside.own].some((folder) => isInside(path, folder)) ||
  isOpen(path, [...read, ...write], outside) ||
  (outside.cwd !== null && !isInside(outside.home, outside.cwd) && isInside(path, outside.cwd))

const isOpen = (path: string, open: readonly string[], { home }: Outside): boolean =>
  open.some((each) => isInside(path, each.startsWith('~/') ? home + each.slice(1) : each))

/** The options with a grant for each refusal, as far as there may be one. Paths in the home begin with `~/`. */
export function widened(
  options: IsolationOptions,
  refusals: readonly Refusal[],
  outside: Outside,
): IsolationOptions {
  const { home } = outside
  const short = (path: string) => (path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path)
  const all = (kind: 'read' | 'write') => {
    const granted = refusals.flatMap(({ kind: each, path }) =>
      each === kind && path !== null && isGrantable(path, outside) ? [posix.resolve(path)] : [],
    )
    return [...new Set([...options[kind], ...granted].map(short))]
  }
  const write = all('write')
  const read = all('read').filter((path) => !write.includes(path))
  const network = refusals.some(({ kind }) => kind === 'network') ? 'full' : options.network
  return { ...options, write, read, network }
}

const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // out of reach, or not a possible name
  }
}

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

function* pathsIn(line: string): Iterable<Said> {
  for (const form of BEFORE)
    for (const [, error = '', path = ''] of line.matchAll(form)) yield { error, path }
  for (const form of AFTER) for (const [, path = '', error = ''] of line.matchAll(form)) yield { error, path }
}

const isReadOnly = (error: string): boolean => IS_READ_ONLY.test(error)
const IS_READ_ONLY = new RegExp(`^(?:${READ_ONLY})$`)

/** Whether the rights of the user may be the reason, which are the same outside of the isolation. */
const mayBeForbidden = (error: string): boolean => IS_FORBIDDEN.test(error)
const IS_FORBIDDEN = new RegExp(`^(?:${FORBIDDEN})$`)

/** Whether the missing path may be one that the program wanted to create. */
const mayCreate = (error: string, line: string): boolean => IS_ABSENT.test(error) && !ONLY_LOOKS.test(line)
const IS_ABSENT = new RegExp(`^(?:${ABSENT})$`)
/** The calls of Node that create nothing. */
const ONLY_LOOKS =
  /ENOENT[^\n']{0,60} (?:access|stat|lstat|scandir|opendir|readlink|realpath|unlink|rmdir|chdir|watch) '/

/** `spawn kubectl ENOENT`; `sh: 1: kubectl: not found`. */
function* programsIn(line: string): Iterable<string> {
  for (const form of PROGRAMS) for (const [, name = ''] of line.matchAll(form)) yield name
}
const PROGRAMS = [
  /\bspawn(?:Sync)? ([^\s'"]{1,300}) ENOENT/g,
  /\b(?:ba|da|z)?sh: (?:line )?(?:\d{1,6}: )?([^\s:'"]{1,300}): (?:command )?not found/g,
]

/**
 * Whether a line says that something could not be reached over the network. An isolated server has a loopback interface of its
 * own, on which no program of this computer listens.
 */
const isNetworkError = (line: string): boolean => NETWORK.test(line)
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
const networkEvidence = (lines: readonly string[]): string | undefined =>
  lines.find((line) => NAMES_HOST.test(line)) ?? lines.find((line) => !IS_FIELD.test(line)) ?? lines[0]
const NAMES_HOST = /getaddrinfo \S+ \S|connect E[A-Z]+ \S|net::ERR_\w+ at \S|https?:\/\//
/** `code: 'EAI_AGAIN',` of a printed error. */
const IS_FIELD = /^\s*\w{1,20}: /
