import { homedir } from 'node:os'
import path from 'node:path'
import { readForeignHead } from '../../../kernel/files/foreign-file.ts'
import {
  badCwd,
  kindOf,
  notFound,
  type Place,
  type Resolved,
  shown,
  type Unresolved,
} from '../find-program.ts'
import { batchLine, MAX_SHIM_BYTES, readShim, type Shim, UnsafeArgument } from './batch-files.ts'
import { variable } from './windows-environment.ts'

const { dirname, extname, join, resolve } = path.win32

/** The disk and the program of this process, as arguments because a test has its own. */
export interface Disk {
  readonly kindOf: typeof kindOf
  /** The beginning of a file; throws if it cannot be read. */
  readonly head: (file: string, maxBytes: number) => Buffer
  readonly execPath: string
}

const DISK: Disk = { kindOf, head: readForeignHead, execPath: process.execPath }

interface Search {
  readonly disk: Disk
  readonly env: Place['env']
  readonly cwd: string
  readonly folders: readonly string[]
}

type Started = Pick<Extract<Resolved, { ok: true }>, 'path' | 'args' | 'verbatim'>

/** What CreateProcess, cmd.exe and PowerShell can start. PATHEXT also lists scripts that open a window. */
const STARTABLE = ['.com', '.exe', '.bat', '.cmd', '.ps1']

/**
 * Finds the program of a command as cmd.exe does, but not in the working folder. A batch file that npm has written is not
 * run: what it would start is started instead, without a shell.
 */
export function resolveOnWindows(
  command: string,
  { args = [], cwd: folder, env }: Place,
  disk: Disk = DISK,
): Resolved {
  const home = variable(env, 'USERPROFILE') || homedir()
  const cwd = resolve(expandHome(folder, home))
  const kind = disk.kindOf(cwd)
  if (kind !== 'folder') return badCwd(command, cwd, kind)
  const search: Search = { disk, env, cwd, folders: searchFolders(cwd, env, disk) }
  const program = expandHome(command, home)
  const file = find(program, search)
  if (file === undefined) {
    if (!hasSlash(program)) return notFound(command, program, search)
    const exact = resolve(cwd, program)
    const isThere = disk.kindOf(exact) === 'file'
    return isThere ? notStartable(command, exact) : notFound(command, program, { file: exact })
  }
  const started = startOf(command, file, args, search)
  return 'ok' in started ? started : { ok: true, ...started, cwd, searchPath: search.folders.join(';') }
}

/** The first file with an ending of PATHEXT, in the order of PATHEXT. */
function find(program: string, { disk, env, cwd, folders }: Search): string | undefined {
  const endings = (variable(env, 'PATHEXT') || '.COM;.EXE;.BAT;.CMD')
    .toLowerCase()
    .split(';')
    .filter((ending) => STARTABLE.includes(ending))
  const hasEnding = STARTABLE.includes(extname(program).toLowerCase())
  const places = hasSlash(program) ? [cwd] : folders
  return places
    .flatMap((place) => {
      const file = resolve(place, program)
      const longer = endings.map((ending) => file + ending)
      return hasEnding ? [file, ...longer] : longer
    })
    .find((file) => disk.kindOf(file) === 'file')
}

function startOf(
  command: string,
  file: string,
  args: readonly string[],
  search: Search,
): Started | Unresolved {
  const { env } = search
  const system = join(variable(env, 'SystemRoot') || 'C:\\Windows', 'System32')
  switch (extname(file).toLowerCase()) {
    case '.bat':
    case '.cmd': {
      const shim = shimIn(file, search.disk)
      if (shim) return startOfShim(file, shim, args, search)
      const shell = variable(env, 'COMSPEC') || join(system, 'cmd.exe')
      return startOfBatch(command, shell, [file, ...args])
    }
    case '.ps1': {
      const shell = join(system, 'WindowsPowerShell\\v1.0\\powershell.exe')
      return { path: shell, args: ['-NoProfile', '-File', file, ...args] }
    }
    default:
      return { path: file, args }
  }
}

function startOfBatch(command: string, shell: string, line: readonly string[]): Started | Unresolved {
  try {
    return { path: shell, args: batchLine(line), verbatim: true }
  } catch (error) {
    if (!(error instanceof UnsafeArgument)) throw error
    const message = `'${shown(command)}' cannot start: ${error.message}`
    const hint = 'Set command to the program that it runs'
    return { ok: false, code: 'not_executable', message, hint, action: EDIT_COMMAND }
  }
}

function shimIn(file: string, { head }: Disk): Shim | undefined {
  try {
    const bytes = head(file, MAX_SHIM_BYTES + 1)
    return bytes.length > MAX_SHIM_BYTES ? undefined : readShim(file, bytes.toString('utf8'))
  } catch {
    return undefined // not readable, which cmd.exe reports
  }
}

function startOfShim(
  file: string,
  shim: Shim,
  args: readonly string[],
  search: Search,
): Started | Unresolved {
  const { disk } = search
  const target = (shim.isNpm ? globalNpm(file, shim, search) : undefined) ?? shim.target
  if (disk.kindOf(target) !== 'file') {
    const message = `${file} cannot start: it runs ${target}, which does not exist`
    const hint = 'Install its package again'
    return { ok: false, code: 'bad_interpreter', message, hint, action: EDIT_COMMAND }
  }
  if (shim.nodeOptions === undefined) return { path: target, args }
  const beside = join(dirname(file), 'node.exe')
  const node = disk.kindOf(beside) === 'file' ? beside : (find('node.exe', search) ?? disk.execPath)
  return { path: node, args: [...shim.nodeOptions, target, ...args] }
}

const MAX_NPMRC_BYTES = 4096
/** What the installer of Node writes. Other installers keep global packages beside node.exe, where the shim is. */
const INSTALLER_PREFIX = /^prefix *= *\$\{APPDATA\}[\\/]npm *\r?$/m

/** The npm that `npm install -g npm` has installed; undefined if there is none. */
function globalNpm(file: string, { target }: Shim, { disk, env }: Search): string | undefined {
  const appData = variable(env, 'APPDATA')
  const given = variable(env, 'npm_config_prefix')
  const prefix = given ?? (appData && usesAppData(file, disk) ? join(appData, 'npm') : undefined)
  if (!prefix) return undefined
  const script = join(prefix, 'node_modules\\npm\\bin', path.win32.basename(target))
  return disk.kindOf(script) === 'file' ? script : undefined
}

function usesAppData(file: string, { head }: Disk): boolean {
  try {
    const npmrc = head(join(dirname(file), 'node_modules\\npm\\npmrc'), MAX_NPMRC_BYTES)
    return INSTALLER_PREFIX.test(npmrc.toString('utf8'))
  } catch {
    return false // not from the installer
  }
}

/** The folders of PATH, then that of the Node that runs Toolroom. */
function searchFolders(cwd: string, env: Place['env'], { execPath }: Disk): string[] {
  const entries = (variable(env, 'PATH') ?? '').split(';').map((entry) => entry.replaceAll('"', '').trim())
  const listed = entries.filter((entry) => entry !== '').map((entry) => resolve(cwd, entry))
  return [...new Set([...listed, dirname(execPath)])]
}

function notStartable(command: string, file: string): Unresolved {
  const message = `'${shown(command)}' cannot start: Windows cannot run ${file} as a program`
  const hint = 'Set command to the program that runs it, such as node or python, and move the file to args'
  return { ok: false, code: 'not_executable', message, hint, action: EDIT_COMMAND }
}

const EDIT_COMMAND = { kind: 'edit_command' } as const

const hasSlash = (program: string): boolean => /[\\/]/.test(program)
const expandHome = (file: string, home: string): string => file.replace(/^~(?=$|[\\/])/, () => home)
