import { existsSync, type Stats, statSync } from 'node:fs'
import path from 'node:path'
import { holdsKeys, isGrantable, isInside, realPathOf } from '../../../kernel/grantable-path.ts'
import { follow } from '../followed-path.ts'
import type { PathRefusal } from '../path-refusal.ts'
import { insideOf, isOwn } from '../shown-folders.ts'
import type { WrittenFolders } from '../written-folders.ts'

/** What a sandboxed server may reach beside the system and its program. */
export interface Confinement {
  /** Files and folders it may change. */
  readonly write: readonly string[]
  /** Files and folders it may read. */
  readonly read: readonly string[]
  readonly network: 'none' | 'full'
}

/** The program to confine, as it would be started without a sandbox. */
export interface Confined {
  /** The path of an executable file. */
  readonly path: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

export interface Surroundings {
  /** The home of the user, which the server finds empty. */
  readonly home: string
  /** Toolroom's own folders, which stay hidden even inside a folder that the server may read. */
  readonly hidden: readonly string[]
  /** Where installed packages are, inside one of these. */
  readonly packages: string | undefined
  /** Folders of the system, which every server may read. */
  readonly system: readonly string[]
  readonly written: WrittenFolders
}

export type Mount =
  | {
      readonly path: string
      readonly access: 'write' | 'read'
      /** What is shown there: a path without links. */
      readonly source: string
    }
  /** A new folder in memory that is lost at the end. */
  | { readonly path: string; readonly access: 'empty' }

type Access = Mount['access'] | 'system'

/**
 * What the server sees beside the system folders, parents before the files and folders in them: of two nested entries the
 * inner one decides. Or why it cannot be started.
 */
export function mountsOf(
  confined: Confined,
  confinement: Confinement,
  surroundings: Surroundings,
): { readonly ok: true; readonly mounts: Mount[] } | { readonly ok: false; readonly refusal: PathRefusal } {
  const { home, hidden, system, written } = surroundings
  const granted = grantsOf(confinement, surroundings)
  if ('why' in granted) return { ok: false, refusal: granted }
  const bound = new Map<string, Mount>()
  for (const [path, { source, access }] of granted)
    if (!isTwice(path, source, access, granted)) bound.set(path, { path, access, source })
  const empty = new Set(['/tmp', home, confined.env.HOME ?? home, ...hidden])
  const accesses = new Map<string, Access>(system.map((folder) => [folder, 'system']))
  for (const folder of empty)
    if (folder !== '/' && isFolder(folder) && !isBound(folder, bound)) accesses.set(folder, 'empty')
  for (const { path, access } of bound.values()) accesses.set(path, access)
  const kept = [home, confined.env.HOME ?? home, ...hidden]
  for (const folder of insideOf(bound.values(), kept)) if (!bound.has(folder)) accesses.set(folder, 'empty')
  // Only what is not there yet: a package inside a folder that may be written stays writable.
  for (const path of neededBy(confined, surroundings)) {
    const led = follow(path, written.all)
    if (led.found !== 'path' || (accessTo(path, accesses) ?? 'empty') !== 'empty') continue
    accesses.set(path, 'read')
    const mount = { path, access: 'read', source: led.path } as const
    bound.set(path, mount)
    for (const folder of insideOf([mount], kept)) accesses.set(folder, 'empty')
  }
  const mounts = [...accesses]
    .flatMap(([path, access]) => (access === 'empty' ? [{ path, access }] : (bound.get(path) ?? [])))
    .sort((a, b) => depth(a.path) - depth(b.path))
  const refusal = unreached(confined, accesses, surroundings)
  return refusal ? { ok: false, refusal } : { ok: true, mounts }
}

type Grants = ReadonlyMap<string, { readonly access: 'write' | 'read'; readonly source: string }>

/** What `isolation_options` names, with where it leads. What may be written is recorded before anything is judged by it. */
function grantsOf({ read, write }: Confinement, surroundings: Surroundings): Grants | PathRefusal {
  const { home, written } = surroundings
  const granted = new Map<string, { access: 'write' | 'read'; source: string }>()
  for (const [access, files] of [['write', write] as const, ['read', read] as const])
    for (const file of files) {
      const path = expandHome(file, home)
      const led = follow(path, written.all)
      if (led.found === 'nothing') return { why: 'missing', file }
      if (led.found === 'link') return { why: 'link', file, link: led.link }
      if (isOwn(path, led.path, surroundings.hidden)) return { why: 'own', file }
      if (access === 'write') written.add([led.path])
      if (!granted.has(path)) granted.set(path, { access, source: led.path })
    }
  // A folder that was judged before another one around it was recorded.
  for (const [path, { source }] of granted) {
    const led = follow(path, written.all)
    if (led.found === 'link') return { why: 'link', file: path, link: led.link }
    if (led.found === 'nothing' || led.path !== source) return { why: 'missing', file: path }
  }
  return granted
}

/** Whether it is in a folder of the server that may be written anyway. */
function isTwice(path: string, source: string, access: 'write' | 'read', granted: Grants): boolean {
  const outer = [...granted.keys()]
    .filter((each) => each !== path && isInside(path, each))
    .sort((a, b) => b.length - a.length)[0]
  const around = outer === undefined ? undefined : granted.get(outer)
  return (
    outer !== undefined &&
    around?.access === 'write' &&
    access === 'write' &&
    source === around.source + path.slice(outer.length)
  )
}

const isBound = (file: string, bound: ReadonlyMap<string, Mount>): boolean =>
  [...bound.keys()].some((path) => isInside(file, path))

/** The working folder opens nothing, and a program behind a link that is not followed is not there. */
function unreached(
  { path: program, cwd, env }: Confined,
  accesses: ReadonlyMap<string, Access>,
  { home, hidden, written }: Surroundings,
): PathRefusal | undefined {
  const isSeen = (file: string) => (accessTo(file, accesses) ?? 'empty') !== 'empty'
  const isAround = [...accesses.keys(), home, env.HOME ?? home].some((each) => isInside(each, cwd))
  if (!isSeen(cwd) && (!isAround || isOwn(cwd, realPathOf(cwd), hidden)))
    return { why: 'cwd', file: cwd, mayAdd: isGrantable(cwd, { home, own: hidden }) }
  const led = follow(program, written.all)
  if (led.found === 'link' && !isSeen(realPathOf(program)))
    return { why: 'link', file: program, link: led.link }
  return undefined
}

/** The innermost entry around a file decides. */
function accessTo<A>(file: string, mounts: ReadonlyMap<string, A>): A | undefined {
  for (let folder = file; ; folder = path.dirname(folder)) {
    const access = mounts.get(folder)
    if (access !== undefined || folder === '/') return access
  }
}

/**
 * The program with its runtime and its package. Never the home or a folder around it, keys, or what is Toolroom's own. A
 * folder that a server may write makes nothing else readable.
 */
function neededBy({ path: program, args, cwd, env }: Confined, surroundings: Surroundings): string[] {
  const { home, hidden, packages, written } = surroundings
  const targets = (file: string | undefined) => withTarget(file, written.all)
  const isWritten = (file: string) => written.all.some((folder) => isInside(realPathOf(file), folder))
  const script = args.find((arg) => SCRIPT.test(arg) && isFile(path.resolve(cwd, arg)))
  const files = [program, ...(script === undefined ? [] : [path.resolve(cwd, script)])]
  const runtimes = [program, nodeOn(env.PATH ?? ''), process.execPath]
  const isClosed = (file: string) => {
    const real = realPathOf(file)
    if (packages !== undefined && isInside(real, realPathOf(packages))) return false
    return isOwn(file, real, hidden) || [home, realPathOf(home)].some((each) => holdsKeys(real, each))
  }
  const needed = [
    ...runtimes.flatMap(targets).flatMap((file) => {
      const bin = path.dirname(file)
      return runtimeOf(bin, home).filter((folder) => !isWritten(bin) || isWritten(folder))
    }),
    ...files.flatMap(targets).map((file) => {
      const folder = packageOf(file, home)
      return isClosed(folder) ? file : folder
    }),
  ]
  return [...new Set(needed)]
    .filter(
      (file) => !isInside(home, file) && !isInside(realPathOf(home), realPathOf(file)) && !isClosed(file),
    )
    .sort((a, b) => depth(a) - depth(b))
}

const SCRIPT = /\.(?:[cm]?[jt]sx?|py|rb|sh|php|pl|lua|jar)$|\/node_modules\//

/** A link is followed inside of the sandbox too, so its target is needed as well. */
function withTarget(file: string | undefined, written: readonly string[]): string[] {
  if (file === undefined) return []
  const led = follow(file, written)
  return led.found === 'path' ? [file, led.path] : []
}

/**
 * The prefix of a Node or a Python, which nvm, fnm, volta, uv and venv put into the home. Where programs of all kinds
 * share a prefix, such as `~/.local`, only its programs and their modules.
 */
function runtimeOf(bin: string, home: string): string[] {
  const prefix = path.dirname(bin)
  const isRuntime = ['node', 'python3'].some((name) => existsSync(path.join(bin, name)))
  if (path.basename(bin) !== 'bin' || !(isRuntime || existsSync(path.join(prefix, 'pyvenv.cfg')))) return []
  const isShared = isInside(home, prefix) || prefix === path.join(home, '.local')
  return isShared ? [bin, path.join(prefix, 'lib/node_modules')].filter(existsSync) : [prefix]
}

/** The folder that holds the modules of a program; the file itself if it belongs to no package. */
function packageOf(file: string, home: string): string {
  const modules = file.indexOf('/node_modules/')
  if (modules > 0) return file.slice(0, modules + '/node_modules'.length)
  for (let folder = path.dirname(file); !isInside(home, folder); folder = path.dirname(folder))
    if (MANIFESTS.some((name) => existsSync(path.join(folder, name)))) return folder
  return file
}

const MANIFESTS = ['package.json', 'pyproject.toml']

const nodeOn = (searchPath: string): string | undefined =>
  searchPath
    .split(path.delimiter)
    .map((folder) => path.join(folder, 'node'))
    .find((file) => path.isAbsolute(file) && isFile(file))

const depth = (file: string): number => (file === '/' ? 0 : file.split('/').length)
const expandHome = (file: string, home: string): string =>
  path.resolve(file === '~' || file.startsWith('~/') ? home + file.slice(1) : file)

const isFolder = (file: string): boolean => statOf(file)?.isDirectory() === true
const isFile = (file: string): boolean => statOf(file)?.isFile() === true

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    return undefined // out of reach, or not a possible name
  }
}
