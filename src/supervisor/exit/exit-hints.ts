import { homedir } from 'node:os'
import path from 'node:path'
import { isGrantable } from '../../kernel/grantable-path.ts'
import type { RepairAction } from '../../kernel/repair-action.ts'
import { actionFor } from '../platform/find-program.ts'

/** What was started. */
export interface Started {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>> | undefined
  /** It reaches only what it was granted. */
  readonly isIsolated?: boolean | undefined
}

type Match = RegExpExecArray

/** The missing module is the script in args, or a dependency of it. */
export function moduleHint({ 1: missing, input }: Match, { args }: Started): string {
  const from = /imported from ([^ ]{1,500})/.exec(input)?.[1] ?? / - (\/[^ ]{1,500})/.exec(input)?.[1]
  const folder = from === undefined ? undefined : packageFolder(from)
  if (missing === undefined) return `Install the dependencies${folder ? ` in ${folder}` : ''}`
  if (isPath(missing) && isNamed(missing, args)) {
    return `Check the path ${missing} in args, or build the project that creates this file`
  }
  if (folder?.includes('/_npx/')) return `Delete ${folder} to let npx install the package again`
  if (isPath(missing)) return `Build or reinstall the package: its file ${missing} is missing`
  if (isNamed(missing, args)) return `Install ${missing} in the server's folder, or remove it from args`
  return folder === undefined
    ? `Install the dependencies in the server's folder: ${missing} is missing`
    : `Run npm install in ${folder}`
}

export function moduleAction({ 1: missing }: Match, { args }: Started): RepairAction {
  return { kind: missing !== undefined && isNamed(missing, args) ? 'edit_arguments' : 'see_log' }
}

export const isModuleInArgs = ({ 1: missing }: Match, { args }: Started): boolean =>
  missing !== undefined && args[args.indexOf('-m') + 1] === missing

export function pythonModuleHint({ 1: missing = 'it' }: Match, { args }: Started): string {
  return args[args.indexOf('-m') + 1] === missing
    ? `Install ${missing} for this Python, or check the name after -m in args`
    : `Install the dependencies for this Python, for example: pip install ${missing.split('.')[0]}`
}

export function nativeHint({ input }: Match): string {
  const library = /(\S{1,200}): cannot open shared object file/.exec(input)?.[1]
  if (library !== undefined)
    return `Install the library ${library} on this computer, then start the server again`
  const folder = /(\/[^ ']{1,500}?)\/node_modules\//.exec(input)?.[1]
  if (folder?.includes('/_npx/')) {
    return `Delete ${folder} and allow install scripts to let npx build the package for this Node.js`
  }
  const where = folder === undefined ? 'in its folder' : `in ${folder}`
  return `Reinstall the package for this Node.js with install scripts allowed, or run npm rebuild ${where}`
}

export function packageHint(match: Match): string {
  const { input } = match
  const version = /No matching version found for (\S{1,250}?)\.?(?: |$)/.exec(input)?.[1]
  if (version !== undefined) return `Check the version in args: ${version} does not exist`
  const notFound = /'(@?[^'@ ]{1,214})(?:@[^' ]{0,100})?' (?:could not be found|is not in)/
  const name = firstGroup(match) ?? notFound.exec(input)?.[1]
  return name === undefined
    ? 'Check the package name in args: the package was not found'
    : `Check the package name in args: ${name} does not exist, or you have no access to it`
}

export function portHint({ input }: Match): string {
  const port = /(?::|\bport:? |, )(\d{2,5})\b(?![.\d])/i.exec(input)?.[1]
  return port === undefined
    ? 'Stop the program that uses the port, or configure another port'
    : `Stop the program that uses port ${port}, or configure another port`
}

export function commandHint(match: Match): string {
  const program = firstGroup(match)
  return program === undefined
    ? 'Install the program, or use its full path'
    : `Install ${program}, check its name, or use its full path`
}

export const commandAction = (match: Match): RepairAction => actionFor(firstGroup(match) ?? '')

export function fileAction(match: Match, { args, isIsolated }: Started): RepairAction {
  const file = firstGroup(match)
  if (isIsolated && file !== undefined && path.isAbsolute(file)) return grant(file, 'read')
  if (file !== undefined && path.posix.basename(file) === 'package.json') return { kind: 'edit_folder' }
  return file === undefined || isNamed(file, args)
    ? { kind: 'edit_arguments' }
    : { kind: 'edit_variables', name: null }
}

export function fileHint(match: Match, { args, isIsolated }: Started): string {
  const file = firstGroup(match)
  if (file === undefined)
    return 'Check the paths in args and env, or set cwd to the folder they are relative to'
  if (isIsolated && path.isAbsolute(file)) return granted(file)
  if (path.posix.basename(file) === 'package.json') return 'Set cwd to the folder that contains package.json'
  return isNamed(file, args)
    ? `Check the path ${file} in args, or create it`
    : `Create ${file}, or correct the setting that contains this path`
}

export function permissionHint(match: Match, { isIsolated }: Started): string {
  const file = firstGroup(match)
  if (isIsolated && file !== undefined && path.isAbsolute(file)) return granted(file)
  return file === undefined
    ? 'Give your user access to the files that the server needs, or use another folder'
    : `Give your user access to ${file}, or use another path`
}

/** A server can print any path. */
const mayGrant = (file: string): boolean => isGrantable(file, { home: homedir(), own: [] })

const granted = (file: string): string =>
  mayGrant(file)
    ? `Let it reach ${file} in its isolation, or use another path`
    : `Its isolation keeps it from ${file}. Use another path, or see what it may reach`

const grant = (file: string, access: 'read' | 'write'): RepairAction =>
  mayGrant(file)
    ? { kind: 'grant_path', path: path.posix.resolve(file), access }
    : { kind: 'change_isolation' }

export function permissionAction(match: Match, { isIsolated }: Started): RepairAction {
  const file = firstGroup(match)
  if (!isIsolated) return { kind: 'edit_arguments' }
  return file !== undefined && path.isAbsolute(file) ? grant(file, 'write') : { kind: 'change_isolation' }
}

/** The variable with the address, if one has it. Otherwise the program at the address is to be started first. */
export function hostAction({ 1: host }: Match, { env = {} }: Started): RepairAction {
  const name = Object.keys(env).find((each) => host !== undefined && env[each]?.includes(host))
  return name === undefined ? { kind: 'start' } : { kind: 'edit_variables', name }
}

export function settingAction({ input }: Match): RepairAction {
  const [name] = settingNames(input)
  return name === undefined ? { kind: 'edit_variables', name: null } : { kind: 'set_variable', name }
}

export function settingHint({ input }: Match): string {
  const names = settingNames(input)
  return names.length === 0 ? 'Set the missing value in env or args' : `Set ${names.join(' and ')} in env`
}

const NO_SETTING = /^(?:ERR|E|NODE_MODULE|MODULE_NOT)_/

/** GITHUB_TOKEN is a variable anywhere in the text; TOKEN only if the next word shows it. */
function settingNames(text: string): string[] {
  const long = text.match(/\b[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,8}\b/g) ?? []
  const short = text.match(/\b[A-Z][A-Z0-9]{3,40}\b(?= (?:is|was|must|needs|not|env|environment)\b)/g) ?? []
  const names = [...new Set(long.filter((name) => !NO_SETTING.test(name)))]
  return (names.length > 0 ? names : [...new Set(short)]).slice(0, 4)
}

const firstGroup = (match: Match): string | undefined => match.slice(1).find((group) => group !== undefined)
const isPath = (name: string): boolean => /^(?:\.{0,2}\/|[A-Za-z]:[\\/]|file:)/.test(name)

/** `dist/index.js` in args appears as /home/me/dist/index.js in the error. */
function isNamed(name: string, args: readonly string[]): boolean {
  return args.some((arg) => {
    const plain = arg.replace(/^(?:\.{1,2}\/)+|^~\//, '')
    return plain !== '' && (name === arg || name.endsWith(`/${plain}`))
  })
}

/** Where to run npm install: the folder of the file, or the one that contains node_modules. */
function packageFolder(file: string): string {
  const inside = file.indexOf('/node_modules/')
  if (inside >= 0) return file.slice(0, inside)
  return file.endsWith('/') && file.length > 1 ? file.slice(0, -1) : path.posix.dirname(file)
}
