import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { IsolationOptions } from '../../kernel/server-state.ts'

/** Something that the walls of a server kept from it, as its own errors say. */
export interface Refusal {
  readonly kind: 'read' | 'write' | 'network'
  /** What it would have to reach; null for the network. */
  readonly path: string | null
  readonly evidence: string
}

/** What a system says, as Node, Python and most programs print it. */
const READ_ONLY = 'EROFS|EACCES|EPERM|[Rr]ead-only file system|[Pp]ermission denied'
const MISSING = 'ENOENT|[Nn]o such file or directory'
const QUOTED = `['"‘]([/~][^'"‘’\\n]{0,1000})['"’]`
const UNQUOTED = `(~?/[^\\s,;:'"]{1,1000})`
/** `EROFS: read-only file system, open '/a'`, and `mkdir: cannot create directory '/a': Read-only file system`, and `Cannot access directory /a`. */
const FORMS = [
  new RegExp(`(${READ_ONLY}|${MISSING})[^\\n'"‘’]{0,100}${QUOTED}`, 'g'),
  new RegExp(`${QUOTED}: (${READ_ONLY}|${MISSING})`, 'g'),
  new RegExp(`([Cc]annot (?:access|find|open|read))[^\\n/~]{0,60}${UNQUOTED}`, 'g'),
]
const NO_NETWORK =
  /ENETUNREACH|EAI_AGAIN|ENOTFOUND|[Nn]etwork is unreachable|[Tt]emporary failure in name resolution/
const IS_READ_ONLY = new RegExp(`^(?:${READ_ONLY})$`)

const MAX_LINES = 2000
const MAX_LINE = 4000
const MAX_EVIDENCE = 300
const MAX_REFUSALS = 50

/**
 * The refusals in what a server has printed and answered. A path that does not exist outside of the walls either is no
 * refusal. What the server did not try is not seen.
 */
export function refusalsIn(texts: readonly string[], home: string): Refusal[] {
  const found = new Map<string, Refusal>()
  const add = (kind: Refusal['kind'], path: string | null, line: string) => {
    const key = `${kind} ${path}`
    if (!found.has(key) && found.size < MAX_REFUSALS)
      found.set(key, { kind, path, evidence: line.trim().slice(0, MAX_EVIDENCE) })
  }
  for (const line of linesOf(texts)) {
    if (NO_NETWORK.test(line)) add('network', null, line)
    for (const [at, form] of FORMS.entries())
      for (const [, first = '', second = ''] of line.matchAll(form)) {
        const [error, file] = at === 1 ? [second, first] : [first, second]
        const path = file.startsWith('~/') ? home + file.slice(1) : file
        if (IS_READ_ONLY.test(error)) add('write', folderOf(path), line)
        else if (existsSync(path)) add('read', path, line)
        else if (isOwnFolder(dirname(path), home)) add('write', dirname(path), line)
      }
  }
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

/** A new file needs its folder. */
const folderOf = (path: string): string => (isFolder(path) ? path : dirname(path))

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** A folder that exists and is neither the root nor the whole home. */
const isOwnFolder = (path: string, home: string): boolean => path !== '/' && path !== home && isFolder(path)

/** The walls with a door for each refusal. Paths in the home begin with `~/`. */
export function widened(
  options: IsolationOptions,
  refusals: readonly Refusal[],
  home: string,
): IsolationOptions {
  const short = (path: string) => (path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path)
  const all = (kind: 'read' | 'write') => {
    const more = refusals.flatMap((each) => (each.kind === kind && each.path !== null ? [each.path] : []))
    return [...new Set([...options[kind], ...more].map(short))]
  }
  const write = all('write')
  const read = all('read').filter((path) => !write.includes(path))
  const network = refusals.some(({ kind }) => kind === 'network') ? 'full' : options.network
  return { ...options, write, read, network }
}
