import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { readForeignHead } from '../../kernel/files/foreign-file.ts'
import { publicCommand } from '../../kernel/secrets/public-view.ts'

export interface Place {
  readonly cwd: string
  /** The environment of the tool server. Its PATH and HOME are used, not those of Toolroom. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
}

export type Resolved =
  | {
      readonly ok: true
      readonly path: string
      readonly cwd: string
      /** The PATH to start it with: `#!/usr/bin/env node` of an `npx` must find node in the same folders. */
      readonly searchPath: string
    }
  | Unresolved

export interface Unresolved {
  readonly ok: false
  readonly code: 'command_not_found' | 'not_executable' | 'cwd_not_found' | 'bad_interpreter'
  readonly message: string
  readonly hint: string
}

/**
 * Finds the program like execvp, before anything is spawned: Node reports the same ENOENT for a missing command, working
 * folder or script interpreter, and the user needs to know which one it is.
 */
export function resolveCommand(command: string, { cwd: folder, env, platform }: Place): Resolved {
  const { resolve, delimiter } = pathsOf(platform)
  const home = homeOf(env)
  const cwd = resolve(expandHome(folder, home))
  const badCwd = checkCwd(command, cwd)
  if (badCwd) return badCwd

  const program = expandHome(command, home)
  const folders = searchFolders(cwd, home, env, platform)
  const candidates = hasSlash(program, platform)
    ? [resolve(cwd, program)]
    : folders.map((at) => resolve(at, program))
  const { found, refused } = firstProgram(candidates, env, platform)
  const searched = hasSlash(program, platform) ? candidates : folders
  if (found === undefined) return notFound(command, program, searched, refused, platform)

  const broken = platform === 'win32' ? undefined : brokenInterpreter(found, cwd, folders, platform)
  if (broken) return { ok: false, code: 'bad_interpreter', ...broken }
  return { ok: true, path: found, cwd, searchPath: folders.join(delimiter) }
}

function checkCwd(command: string, cwd: string): Unresolved | undefined {
  const kind = kindOf(cwd)
  if (kind === 'folder' && mayExecute(cwd)) return undefined
  const why = {
    missing: 'does not exist',
    unreachable: 'cannot be reached: permission denied',
    folder: 'cannot be entered: permission denied',
    file: 'is a file, not a folder',
    other: 'is not a folder',
  }[kind]
  const message = `'${shown(command)}' cannot start: its working folder ${cwd} ${why}`
  const hint = 'Create the folder, or set cwd to an existing folder'
  return { ok: false, code: 'cwd_not_found', message, hint }
}

/** Like execvp, a file that is not executable does not end the search, but is remembered. */
function firstProgram(candidates: readonly string[], env: Place['env'], platform: NodeJS.Platform) {
  let refused: { readonly file: string; readonly kind: Kind } | undefined
  for (const file of candidates.flatMap((candidate) => spellings(candidate, env, platform))) {
    const kind = kindOf(file)
    if (kind === 'file' && mayExecute(file)) return { found: file, refused }
    if (kind === 'file' || (candidates.length === 1 && kind !== 'missing')) refused ??= { file, kind }
  }
  return { found: undefined, refused }
}

function notFound(
  command: string,
  program: string,
  searched: readonly string[],
  refused: { readonly file: string; readonly kind: Kind } | undefined,
  platform: NodeJS.Platform,
): Unresolved {
  if (refused) {
    const { file, kind } = refused
    const why = {
      file: `${file} is not executable`,
      folder: `${file} is a folder`,
      unreachable: `${file} cannot be reached: permission denied`,
      other: `${file} is not a program`,
      missing: `${file} does not exist`,
    }[kind]
    const hint =
      kind === 'file' ? `Run: chmod +x '${file}', or set command to its interpreter` : hintFor(program)
    return { ok: false, code: 'not_executable', message: `'${shown(command)}' cannot start: ${why}`, hint }
  }
  const message = hasSlash(program, platform)
    ? `'${shown(command)}' was not found: there is no file ${shown(searched[0] ?? program)}`
    : `'${shown(command)}' was not found in any of these folders: ${listed(searched)}`
  return { ok: false, code: 'command_not_found', message, hint: hintFor(program) }
}

function hintFor(program: string): string {
  const [first = '', ...rest] = program.trim().split(/\s+/)
  if (rest.length > 0 && !/[\\/]/.test(first)) {
    return `command must be the program alone: set command to '${shown(first)}' and move the rest to args`
  }
  const installed = INSTALLERS.find(({ programs }) => programs.includes(path.basename(program)))
  return installed?.hint ?? 'Install it, check the command, or use the full path of the program'
}

const INSTALLERS: readonly { readonly programs: readonly string[]; readonly hint: string }[] = [
  {
    programs: ['node', 'npx', 'npm'],
    hint: 'Install Node.js from https://nodejs.org, or use its full path',
  },
  { programs: ['uv', 'uvx'], hint: 'Install uv from https://docs.astral.sh/uv, or use its full path' },
  { programs: ['bun', 'bunx'], hint: 'Install Bun from https://bun.sh, or use its full path' },
  { programs: ['deno'], hint: 'Install Deno from https://deno.com, or use its full path' },
  { programs: ['docker'], hint: 'Install Docker from https://docs.docker.com, or use its full path' },
]

/** The interpreter in the first line of a script must exist. Undefined if it does, or if the file is not a script. */
function brokenInterpreter(file: string, cwd: string, folders: readonly string[], platform: NodeJS.Platform) {
  const [, interpreter, rest] = /^#![ \t]*([^ \t\n]+)[ \t]*([^\n]*)/.exec(beginningOf(file)) ?? []
  if (interpreter === undefined) return undefined
  if (interpreter.endsWith('\r') || rest?.endsWith('\r')) {
    const message = `${file} cannot start: its first line ends with a Windows line break, which becomes part of the interpreter's name`
    return { message, hint: `Save it with Unix line breaks, for example: sed -i 's/\\r$//' '${file}'` }
  }
  if (!isProgram(path.resolve(cwd, interpreter))) {
    const message = `${file} cannot start: its first line names the interpreter ${shown(interpreter)}, which does not exist or is not executable`
    return { message, hint: `Install ${shown(interpreter)}, or correct the first line of the script` }
  }
  const wanted = path.basename(interpreter) === 'env' ? programOfEnv(rest ?? '', platform) : undefined
  if (wanted === undefined) return undefined
  const candidates = wanted.includes('/')
    ? [path.resolve(cwd, wanted)]
    : folders.map((at) => path.join(at, wanted))
  if (candidates.some(isProgram)) return undefined
  const message = `${file} cannot start: it needs '${shown(wanted)}', which was not found in any of these folders: ${listed(folders)}`
  return { message, hint: hintFor(wanted) }
}

/** Linux passes everything after `env` as one argument, so `env node --flag` looks for a program with that whole name. */
function programOfEnv(rest: string, platform: NodeJS.Platform): string | undefined {
  const text = rest.trim()
  const split = /^(?:-S|--split-string=?)\s*(.*)/.exec(text)?.[1]
  if (split === undefined && platform === 'linux')
    return text === '' || text.startsWith('-') ? undefined : text
  const words = (split ?? text).split(/\s+/)
  const first = words.find((word) => !/^\w+=/.test(word))
  return first === undefined || first === '' || first.startsWith('-') ? undefined : first
}

/** The folders of PATH, then those of common installers, which are not in the PATH of an app started from a desktop. */
function searchFolders(cwd: string, home: string, env: Place['env'], platform: NodeJS.Platform): string[] {
  const { resolve, delimiter } = pathsOf(platform)
  const value = platform === 'win32' ? (env.Path ?? env.PATH) : env.PATH
  // Like for execvp, an empty entry means the working folder. An empty PATH does not.
  const listedFolders = value ? value.split(delimiter).map((entry) => resolve(cwd, entry)) : []
  const known =
    platform === 'win32' ? [] : wellKnown(home, env).filter((folder) => kindOf(folder) === 'folder')
  return [...new Set([...listedFolders, ...known, path.dirname(process.execPath)])]
}

function wellKnown(home: string, env: Place['env']): string[] {
  const nvm = nvmDefault(env.NVM_DIR ?? path.join(home, '.nvm'))
  return [
    '/usr/local/bin',
    '/opt/homebrew/bin',
    '/home/linuxbrew/.linuxbrew/bin',
    '/usr/bin',
    '/bin',
    path.join(home, '.local/bin'),
    path.join(home, '.npm-global/bin'),
    ...(nvm === undefined ? [] : [nvm]),
    ...['.volta/bin', '.local/share/mise/shims', '.asdf/shims'].map((folder) => path.join(home, folder)),
    ...['.bun/bin', '.deno/bin', '.cargo/bin'].map((folder) => path.join(home, folder)),
  ]
}

const MAX_ALIAS_BYTES = 256

/** nvm works only inside shells. Its default is a file with a version, a part of one, or another alias. */
function nvmDefault(nvm: string): string | undefined {
  try {
    if (kindOf(nvm) === 'missing') return undefined
    let wanted = 'default'
    for (let hops = 0; hops < 5; hops++) {
      const alias = path.join(nvm, 'alias', wanted)
      if (wanted.includes('..') || kindOf(alias) !== 'file') break
      wanted = readForeignHead(alias, MAX_ALIAS_BYTES).toString('utf8').trim()
    }
    const version = ['node', 'stable'].includes(wanted) ? 'v' : `v${wanted.replace(/^v/, '')}`
    const newest = readdirSync(path.join(nvm, 'versions/node'))
      .filter((name) => version === 'v' || `${name}.`.startsWith(`${version}.`))
      .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))[0]
    return newest === undefined ? undefined : path.join(nvm, 'versions/node', newest, 'bin')
  } catch {
    return undefined // no nvm, or not readable
  }
}

/** Windows starts `npx` as npx.cmd: each ending in PATHEXT is tried. Not yet tested on Windows. */
function spellings(file: string, env: Place['env'], platform: NodeJS.Platform): string[] {
  if (platform !== 'win32') return [file]
  const endings = (env.PATHEXT ?? '.COM;.EXE;.BAT;.CMD').split(';').filter(Boolean)
  const hasEnding = endings.some((ending) => file.toUpperCase().endsWith(ending.toUpperCase()))
  return hasEnding ? [file] : endings.map((ending) => file + ending.toLowerCase())
}

type Kind = 'file' | 'folder' | 'other' | 'missing' | 'unreachable'

function kindOf(file: string): Kind {
  try {
    const stat = statSync(file, { throwIfNoEntry: false }) // an error for each missing folder would cost most of a start
    if (!stat) return 'missing'
    return stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'other'
  } catch (error) {
    // Also an invalid name: too long, or with a NUL character.
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'unreachable' : 'missing'
  }
}

const isProgram = (file: string): boolean => kindOf(file) === 'file' && mayExecute(file)

function mayExecute(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** As much as the kernel reads. */
function beginningOf(file: string): string {
  try {
    return readForeignHead(file, 256).toString('latin1')
  } catch {
    return '' // executable but not readable, so not a script
  }
}

const pathsOf = (platform: NodeJS.Platform) => (platform === 'win32' ? path.win32 : path.posix)
const hasSlash = (program: string, platform: NodeJS.Platform): boolean =>
  platform === 'win32' ? /[\\/]/.test(program) : program.includes('/')
const homeOf = (env: Place['env']): string => env.HOME || env.USERPROFILE || homedir()
const expandHome = (file: string, home: string): string =>
  file === '~' || file.startsWith('~/') ? home + file.slice(1) : file

/** Masked and shortened for a message, which can be read without a token. */
function shown(text: string): string {
  const masked = publicCommand(text)
  return masked.length > 200 ? `${masked.slice(0, 200)}…` : masked
}

function listed(folders: readonly string[]): string {
  const more = folders.length - 20
  return more > 0 ? `${folders.slice(0, 20).join(', ')} and ${more} more` : folders.join(', ')
}
