import { statSync } from 'node:fs'
import path from 'node:path'
import type { RepairAction } from '../../kernel/repair-action.ts'
import { publicCommand } from '../../kernel/secrets/public-command.ts'

export interface Place {
  /** The arguments of the command. */
  readonly args?: readonly string[] | undefined
  readonly cwd: string
  /** The environment of the tool server. Its PATH and home are used, not those of Toolroom. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export type Resolved =
  | {
      readonly ok: true
      readonly path: string
      /** All arguments, with those that the program itself needs. */
      readonly args: readonly string[]
      /** On Windows: the arguments are quoted already. */
      readonly verbatim?: boolean
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
  readonly action: RepairAction
}

export type Kind = 'file' | 'folder' | 'other' | 'missing' | 'unreachable'

export function kindOf(file: string): Kind {
  try {
    const stat = statSync(file, { throwIfNoEntry: false }) // an error for each missing folder would cost most of a start
    if (!stat) return 'missing'
    return stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'other'
  } catch (error) {
    // Also an invalid name: too long, or with a NUL character.
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'unreachable' : 'missing'
  }
}

/** `folder`: it exists and cannot be entered. */
export function badCwd(command: string, cwd: string, kind: Kind): Unresolved {
  const why = {
    missing: 'does not exist',
    unreachable: 'cannot be reached: permission denied',
    folder: 'cannot be entered: permission denied',
    file: 'is a file, not a folder',
    other: 'is not a folder',
  }[kind]
  const message = `'${shown(command)}' cannot start: its working folder ${cwd} ${why}`
  const hint = 'Create the folder, or set cwd to an existing folder'
  return { ok: false, code: 'cwd_not_found', message, hint, action: { kind: 'edit_folder' } }
}

/** Searched was one file, or the folders of PATH. */
export function notFound(
  command: string,
  program: string,
  searched: { readonly file: string } | { readonly folders: readonly string[] },
): Unresolved {
  const message =
    'file' in searched
      ? `'${shown(command)}' was not found: there is no file ${shown(searched.file)}`
      : `'${shown(command)}' was not found in any of these folders: ${listed(searched.folders)}`
  return { ok: false, code: 'command_not_found', message, ...remedyFor(program) }
}

/** What to do about a program that is missing. */
export const remedyFor = (program: string): Pick<Unresolved, 'hint' | 'action'> => ({
  hint: hintFor(program),
  action: actionFor(program),
})

function hintFor(program: string): string {
  const [first = '', ...rest] = program.trim().split(/\s+/)
  if (rest.length > 0 && !/[\\/]/.test(first)) {
    return `command must be the program alone: set command to '${shown(first)}' and move the rest to args`
  }
  const known = installerOf(program)
  return known
    ? `Install ${known.name} from ${known.url}, or use its full path`
    : 'Install it, check the command, or use the full path of the program'
}

/** Known programs can be installed. Any other name may be wrong. */
export function actionFor(program: string): RepairAction {
  const known = installerOf(program)
  return known
    ? { kind: 'install_runtime', program: path.basename(program), url: known.url }
    : { kind: 'edit_command' }
}

const installerOf = (program: string) =>
  INSTALLERS.find(({ programs }) => programs.includes(path.basename(program)))

const INSTALLERS = [
  { programs: ['node', 'npx', 'npm'], name: 'Node.js', url: 'https://nodejs.org' },
  { programs: ['uv', 'uvx'], name: 'uv', url: 'https://docs.astral.sh/uv' },
  { programs: ['bun', 'bunx'], name: 'Bun', url: 'https://bun.sh' },
  { programs: ['deno'], name: 'Deno', url: 'https://deno.com' },
  { programs: ['docker'], name: 'Docker', url: 'https://docs.docker.com' },
]

/** Masked and shortened for a message, which can be read without a token. */
export function shown(text: string): string {
  const masked = publicCommand(text)
  return masked.length > 200 ? `${masked.slice(0, 200)}…` : masked
}

export function listed(folders: readonly string[]): string {
  const more = folders.length - 20
  return more > 0 ? `${folders.slice(0, 20).join(', ')} and ${more} more` : folders.join(', ')
}
