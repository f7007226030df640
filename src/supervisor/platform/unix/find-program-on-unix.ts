import { accessSync, constants, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { readForeignHead } from '../../../kernel/files/foreign-file.ts'
import {
  badCwd,
  type Kind,
  kindOf,
  listed,
  notFound,
  type Place,
  type Resolved,
  remedyFor,
  shown,
  type Unresolved,
} from '../find-program.ts'

type System = 'linux' | 'darwin'

/**
 * Finds the program like execvp, before anything is spawned: Node reports the same ENOENT for a missing command, working
 * folder or script interpreter, and the user needs to know which one it is.
 */
export function resolveOnUnix(
  command: string,
  { args = [], cwd: folder, env }: Place,
  system: System,
): Resolved {
  const home = env.HOME || homedir()
  const cwd = path.resolve(expandHome(folder, home))
  const kind = kindOf(cwd)
  if (kind !== 'folder' || !mayExecute(cwd)) return badCwd(command, cwd, kind)

  const program = expandHome(command, home)
  const folders = searchFolders(cwd, home, env)
  const exact = program.includes('/') ? path.resolve(cwd, program) : undefined
  const { found, refused } = firstProgram(exact ? [exact] : folders.map((at) => path.resolve(at, program)))
  if (found === undefined && refused) return notExecutable(command, program, refused)
  if (found === undefined) return notFound(command, program, exact ? { file: exact } : { folders })

  const broken = brokenInterpreter(found, cwd, folders, system)
  if (broken) return { ok: false, code: 'bad_interpreter', ...broken }
  return { ok: true, path: found, args, cwd, searchPath: folders.join(':') }
}

/** Like execvp, a file that is not executable does not end the search, but is remembered. */
function firstProgram(candidates: readonly string[]) {
  let refused: { readonly file: string; readonly kind: Kind } | undefined
  for (const file of candidates) {
    const kind = kindOf(file)
    if (kind === 'file' && mayExecute(file)) return { found: file, refused }
    if (kind === 'file' || (candidates.length === 1 && kind !== 'missing')) refused ??= { file, kind }
  }
  return { found: undefined, refused }
}

function notExecutable(
  command: string,
  program: string,
  { file, kind }: { readonly file: string; readonly kind: Kind },
): Unresolved {
  const why = {
    file: `${file} is not executable`,
    folder: `${file} is a folder`,
    unreachable: `${file} cannot be reached: permission denied`,
    other: `${file} is not a program`,
    missing: `${file} does not exist`,
  }[kind]
  const chmod = `Run: chmod +x '${file}', or set command to its interpreter`
  const remedy = kind === 'file' ? { hint: chmod, action: EDIT_COMMAND } : remedyFor(program)
  return { ok: false, code: 'not_executable', message: `'${shown(command)}' cannot start: ${why}`, ...remedy }
}

const EDIT_COMMAND = { kind: 'edit_command' } as const

/** The interpreter in the first line of a script must exist. Undefined if it does, or if the file is not a script. */
function brokenInterpreter(file: string, cwd: string, folders: readonly string[], system: System) {
  const [, interpreter, rest] = /^#![ \t]*([^ \t\n]+)[ \t]*([^\n]*)/.exec(beginningOf(file)) ?? []
  if (interpreter === undefined) return undefined
  if (interpreter.endsWith('\r') || rest?.endsWith('\r')) {
    const message = `${file} cannot start: its first line ends with a Windows line break, which becomes part of the interpreter's name`
    const hint = `Save it with Unix line breaks, for example: sed -i 's/\\r$//' '${file}'`
    return { message, hint, action: EDIT_COMMAND }
  }
  if (!isProgram(path.resolve(cwd, interpreter))) {
    const message = `${file} cannot start: its first line names the interpreter ${shown(interpreter)}, which does not exist or is not executable`
    const hint = `Install ${shown(interpreter)}, or correct the first line of the script`
    return { message, hint, action: EDIT_COMMAND }
  }
  const wanted = path.basename(interpreter) === 'env' ? programOfEnv(rest ?? '', system) : undefined
  if (wanted === undefined) return undefined
  const candidates = wanted.includes('/')
    ? [path.resolve(cwd, wanted)]
    : folders.map((at) => path.join(at, wanted))
  if (candidates.some(isProgram)) return undefined
  const message = `${file} cannot start: it needs '${shown(wanted)}', which was not found in any of these folders: ${listed(folders)}`
  return { message, ...remedyFor(wanted) }
}

/** Linux passes everything after `env` as one argument, so `env node --flag` looks for a program with that whole name. */
function programOfEnv(rest: string, system: System): string | undefined {
  const text = rest.trim()
  const split = /^(?:-S|--split-string=?)\s*(.*)/.exec(text)?.[1]
  if (split === undefined && system === 'linux') return text === '' || text.startsWith('-') ? undefined : text
  const words = (split ?? text).split(/\s+/)
  const first = words.find((word) => !/^\w+=/.test(word))
  return first === undefined || first === '' || first.startsWith('-') ? undefined : first
}

/** The folders of PATH, then those of common installers, which are not in the PATH of an app started from a desktop. */
function searchFolders(cwd: string, home: string, env: Place['env']): string[] {
  // Like for execvp, an empty entry means the working folder. An empty PATH does not.
  const inPath = env.PATH ? env.PATH.split(':').map((entry) => path.resolve(cwd, entry)) : []
  return [...new Set([...inPath, ...knownFolders(home, env), path.dirname(process.execPath)])]
}

/** Many servers start in the same second. */
const KNOWN_FOR_MS = 1000
let known: { readonly key: string; readonly at: number; readonly folders: readonly string[] } | undefined

function knownFolders(home: string, env: Place['env']): readonly string[] {
  const key = `${home}\0${env.NVM_DIR}`
  const now = performance.now()
  if (known?.key === key && now - known.at < KNOWN_FOR_MS) return known.folders
  const folders = wellKnown(home, env).filter((folder) => kindOf(folder) === 'folder')
  known = { key, at: now, folders }
  return folders
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

const expandHome = (file: string, home: string): string =>
  file === '~' || file.startsWith('~/') ? home + file.slice(1) : file
