import { existsSync, realpathSync, type Stats, statSync } from 'node:fs'
import path from 'node:path'

/** What a sandboxed server may reach beside the system, its program and its working folder. */
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
  /** Folders of the system, which every server may read. */
  readonly system: readonly string[]
}

export interface Mount {
  readonly path: string
  /** `empty`: a new folder in memory that is lost at the end. */
  readonly access: 'write' | 'read' | 'empty'
}

/**
 * What the server sees beside the system folders, parents before the files and folders in them: of two nested entries the
 * inner one decides.
 */
export function mountsOf(
  confined: Confined,
  confinement: Confinement,
  { home, hidden, system }: Surroundings,
): Mount[] {
  const mounts = new Map<string, Mount['access'] | 'system'>(system.map((folder) => [folder, 'system']))
  for (const folder of ['/tmp', home, confined.env.HOME ?? home, ...hidden])
    if (folder !== '/' && isFolder(folder)) mounts.set(folder, 'empty')
  for (const file of confinement.read) mounts.set(expandHome(file, home), 'read')
  for (const file of confinement.write) mounts.set(expandHome(file, home), 'write')
  // Only what is not there yet: a working folder inside a folder that may be written stays writable.
  for (const file of neededBy(confined, home))
    if ((accessTo(file, mounts) ?? 'empty') === 'empty') mounts.set(file, 'read')
  return [...mounts]
    .flatMap(([file, access]) => (access === 'system' ? [] : [{ path: file, access }]))
    .sort((a, b) => depth(a.path) - depth(b.path))
}

/** The innermost entry around a file decides. */
function accessTo<A>(file: string, mounts: ReadonlyMap<string, A>): A | undefined {
  for (let folder = file; ; folder = path.dirname(folder)) {
    const access = mounts.get(folder)
    if (access !== undefined || folder === '/') return access
  }
}

/** The first of the named paths that does not exist. */
export const missingPath = ({ write, read }: Confinement, home: string): string | undefined =>
  [...write, ...read].find((file) => statOf(expandHome(file, home)) === undefined)

/** The program with its runtime, its package and its working folder. Never the home or a folder around it. */
function neededBy({ path: program, args, cwd, env }: Confined, home: string): string[] {
  const script = args.find((arg) => SCRIPT.test(arg) && isFile(path.resolve(cwd, arg)))
  const files = [program, ...(script === undefined ? [] : [path.resolve(cwd, script)])]
  const runtimes = [program, nodeOn(env.PATH ?? ''), process.execPath]
  const needed = [
    ...runtimes.flatMap(withTarget).flatMap((file) => runtimeOf(path.dirname(file), home)),
    ...files.flatMap(withTarget).map((file) => packageOf(file, home)),
    cwd,
  ]
  return [...new Set(needed)].filter((file) => !isInside(home, file)).sort((a, b) => depth(a) - depth(b))
}

const SCRIPT = /\.(?:[cm]?[jt]sx?|py|rb|sh|php|pl|lua|jar)$|\/node_modules\//

/** A link is followed inside of the sandbox too, so its target is needed as well. */
function withTarget(file: string | undefined): string[] {
  if (file === undefined) return []
  try {
    return [file, realpathSync(file)]
  } catch {
    return [] // it does not exist
  }
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

const isInside = (file: string, folder: string): boolean =>
  file === folder || folder === '/' || file.startsWith(`${folder}/`)
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
