import { posix, win32 } from 'node:path'
import type { Agent, Dialect, FileFormat, Scope, System } from './agent-record.ts'
import data from './agents.json' with { type: 'json' }

/** Every supported agent. TypeScript cannot check the JSON against the schema; a test does. */
export const AGENTS: readonly Agent[] = data as unknown as readonly Agent[]

const byName = new Map(AGENTS.flatMap((agent) => [agent.type, ...agent.aliases].map((name) => [name, agent])))

/** `windsurf` finds Devin Desktop, its new name. */
export function findAgent(typeOrAlias: string): Agent | undefined {
  return byName.get(typeOrAlias.toLowerCase())
}

export interface Detected {
  readonly installed: boolean
  /** The path of the program, app, file or folder that was found. A folder alone may be a leftover. */
  readonly by: string | null
}

/** Searches for a program on the PATH, then an app, a file, a folder: the most reliable sign first. */
export function detect(agent: Agent, platform: Platform): Detected {
  const { binaries, apps, files, folders } = agent.detect
  const by =
    binaries.map((name) => onPath(name, platform)).find((path) => path !== undefined) ??
    [...(platform.os === 'darwin' ? apps : []), ...files, ...folders]
      .map((template) => existing(template, platform))
      .find((path) => path !== undefined)
  return { installed: by !== undefined, by: by ?? null }
}

function onPath(name: string, platform: Platform): string | undefined {
  const { delimiter, join, isAbsolute } = pathsOf(platform)
  const names = platform.os === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name]
  return (variable(platform, 'PATH') ?? '')
    .split(delimiter)
    .map((folder) => folder.replace(/^"(.*)"$/, '$1')) // Windows allows quotes around a folder
    .filter((folder) => isAbsolute(folder))
    .flatMap((folder) => names.map((file) => join(folder, file)))
    .find((path) => platform.exists(path))
}

function existing(template: string, platform: Platform): string | undefined {
  const path = resolve(template, platform)
  if (path === undefined) return undefined
  return glob(path, platform).find((match) => platform.exists(match))
}

/** One file of one agent, on this computer. */
export interface ConfigFile {
  readonly scope: string
  /** The file to edit: the first candidate that exists, or else the first. */
  readonly path: string
  readonly candidates: readonly string[]
  readonly format: FileFormat
  readonly dialect: Dialect
  readonly keyPath: readonly string[]
  readonly container: 'map' | 'list'
  readonly nameField: string | null
  readonly readOnly: boolean
  readonly note: string | null
  /** Files of which only the user knows which one the agent uses. Then nothing is written. */
  readonly ambiguous: readonly string[]
  /** The scope whose file is used for this one. */
  readonly standIn: string | null
}

/** One configuration file of one agent on this computer. */
export interface ConfigTarget {
  readonly agent: Agent
  readonly config: ConfigFile
  readonly platform: Platform
  readonly project: string | undefined
}

/** Stands for the absolute path of the project in a key path. */
export const PROJECT = '<project>'
const STRICT: Dialect = { comments: false, trailingCommas: false, bom: false }
/** A placeholder that only the user can resolve: a plugin, a profile, an agent. */
const OPEN = /<[^>]+>/

/**
 * Where this agent keeps its entries. Scopes inside a project are included only with a project (an absolute path).
 * Scopes whose path has an unknown part, such as the id of a profile, are left out.
 */
export function configFilesOf(agent: Agent, platform: Platform, project?: string): ConfigFile[] {
  const folder = project === undefined ? undefined : pathsOf(platform).resolve(project)
  const files = agent.scopes.flatMap((scope) => configFileOf(agent, scope, platform, folder) ?? [])
  return agent.scopes.reduce((all, scope) => withStandIn(all, scope, agent, platform), files)
}

/** By its name, or by the name of the scope whose file is used. */
export const isScope = ({ scope, standIn }: ConfigFile, name: string): boolean =>
  scope === name || standIn === name

/** Replaces a file that does not exist by the one of an earlier version, unless a variable names the file. */
function withStandIn(
  files: ConfigFile[],
  { scope, standsInFor }: Scope,
  agent: Agent,
  platform: Platform,
): ConfigFile[] {
  const [old, current] = [scope, standsInFor].map((name) => files.find((config) => config.scope === name))
  const overrides = agent.scopes.find((each) => each.scope === standsInFor)?.overrides ?? []
  if (!old || !current || overridden(overrides, platform)) return files
  if (platform.exists(current.path) || !platform.exists(old.path)) return files
  const { path, note, ambiguous } = old
  const merged = {
    ...current,
    path,
    note,
    ambiguous,
    candidates: [...current.candidates, path],
    standIn: scope,
  }
  return files.flatMap((config) => (config === old ? [] : config === current ? [merged] : [config]))
}

function configFileOf(
  agent: Agent,
  scope: Scope,
  platform: Platform,
  project: string | undefined,
): ConfigFile | undefined {
  const keyPath = withProject(scope.keyPath ?? agent.keyPath, platform, project)
  const file = fileAt(scope, platform, project)
  if (!keyPath || !file) return undefined
  const format = scope.format ?? agent.format
  const container = scope.container ?? agent.container
  return {
    scope: scope.scope,
    ...file,
    format,
    dialect: format === agent.format ? agent.dialect : STRICT,
    keyPath,
    container,
    nameField: container === 'list' ? agent.nameField : null,
    readOnly: scope.readOnly,
    note: scope.note,
    standIn: null,
  }
}

/**
 * Inserts the path of the project; undefined if there is none. On Windows Claude Code writes the path with `/` and does
 * not find it with `\`.
 */
export function withProject(
  keyPath: readonly string[],
  platform: Platform,
  project: string | undefined,
): string[] | undefined {
  if (!keyPath.includes(PROJECT)) return [...keyPath]
  if (project === undefined) return undefined
  const folder = pathsOf(platform).resolve(project)
  const written = platform.os === 'win32' ? folder.replaceAll('\\', '/') : folder
  return keyPath.map((name) => (name === PROJECT ? written : name))
}

interface Candidates {
  readonly paths: Scope['paths']
  readonly overrides: readonly string[]
}
interface Found {
  readonly path: string
  readonly candidates: readonly string[]
  readonly ambiguous: readonly string[]
}

export function fileAt(from: Candidates, platform: Platform, project: string | undefined): Found | undefined {
  const templates = overridden(from.overrides, platform) ?? from.paths[platform.os]
  const candidates: string[] = []
  for (const template of templates.filter((each) => !OPEN.test(each))) {
    const resolved = resolve(template, platform, project)
    if (resolved === undefined) continue
    const matches = glob(resolved, platform)
    // A matching folder belongs to an installed app, which reads no other file, even if the file does not exist yet.
    const [match] = matches
    if (resolved.includes('*') && match !== undefined) {
      return { path: match, candidates: matches, ambiguous: matches.length > 1 ? matches : [] }
    }
    candidates.push(...matches)
  }
  const unique = [...new Set(candidates)]
  const path = unique.find((candidate) => platform.exists(candidate)) ?? unique[0]
  return path === undefined ? undefined : { path, candidates: unique, ambiguous: [] }
}

/** The paths of the first variable that is set; undefined if none is. */
function overridden(overrides: readonly string[], platform: Platform): readonly string[] | undefined {
  const first = overrides.find((template) => resolve(template, platform) !== undefined)
  if (first === undefined) return undefined
  return overrides.filter((template) => variableIn(template) === variableIn(first))
}

/** All paths that match a pattern with `*`. Without `*` the path itself. */
function glob(path: string, platform: Platform): readonly string[] {
  const { sep, join } = pathsOf(platform)
  const [before, ...after] = path.split(sep)
  const starts = [before === '' ? sep : `${before}${sep}`]
  return after.reduce<readonly string[]>((found, part) => {
    if (!part.includes('*')) return found.map((folder) => join(folder, part))
    const pattern = patternOf(part, platform)
    return found.flatMap((folder) =>
      platform
        .list(folder)
        .filter((name) => pattern.test(name))
        .toSorted()
        .map((name) => join(folder, name)),
    )
  }, starts)
}

function patternOf(part: string, { os }: Platform): RegExp {
  const literal = part.split('*').map((piece) => piece.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${literal.join('.*')}$`, os === 'win32' ? 'i' : '')
}

/** The operating system, as far as paths depend on it. An argument, so that all systems are tested on one. */
export interface Platform {
  readonly os: System
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  exists(path: string): boolean
  /** The names in a folder; none if it does not exist. */
  list(folder: string): readonly string[]
}

/** The defaults of Windows folders whose variable is not set. */
const WINDOWS_FOLDERS: Readonly<Record<string, string>> = {
  USERPROFILE: '~',
  APPDATA: '~\\AppData\\Roaming',
  LOCALAPPDATA: '~\\AppData\\Local',
  PROGRAMDATA: 'C:\\ProgramData',
  PROGRAMFILES: 'C:\\Program Files',
}
const PLACEHOLDER = /^(?:~|\$(?<variable>\w+)|%(?<folder>\w+)%)(?=[\\/]|$)/

const pathsOf = (platform: Platform) => (platform.os === 'win32' ? win32 : posix)

/** On Windows the names of variables are case-insensitive. */
function variable(platform: Platform, name: string): string | undefined {
  if (platform.os !== 'win32') return platform.env[name] || undefined
  const wanted = name.toUpperCase()
  const found = Object.keys(platform.env).find((key) => key.toUpperCase() === wanted)
  return (found && platform.env[found]) || undefined
}

/**
 * The path with its placeholder replaced. Undefined if this system has no such placeholder, if the variable is not set,
 * or if its value is relative: the folder in which the agent will be started is unknown.
 */
function resolve(template: string, platform: Platform, project?: string): string | undefined {
  const path = pathsOf(platform)
  const match = PLACEHOLDER.exec(template)
  if (!match) {
    if (path.isAbsolute(template)) return path.normalize(template)
    return project === undefined ? undefined : path.join(project, template)
  }
  const start = startOf(match.groups ?? {}, platform)
  if (start === undefined || !path.isAbsolute(start)) return undefined
  return path.join(start, template.slice(match[0].length))
}

function startOf(groups: Record<string, string | undefined>, platform: Platform): string | undefined {
  const { variable: name, folder } = groups
  if (name !== undefined) return name === 'XDG_CONFIG_HOME' ? xdgConfig(platform) : variable(platform, name)
  if (folder === undefined) return platform.home
  if (platform.os !== 'win32') return undefined
  const standard = WINDOWS_FOLDERS[folder.toUpperCase()]?.replace('~', () => platform.home)
  return variable(platform, folder) ?? standard
}

/** The XDG specification: `~/.config` if the variable is not set or not absolute. */
function xdgConfig(platform: Platform): string {
  const set = variable(platform, 'XDG_CONFIG_HOME')
  const path = pathsOf(platform)
  return set !== undefined && path.isAbsolute(set) ? set : path.join(platform.home, '.config')
}

/** The variable that an override depends on. */
function variableIn(template: string): string | undefined {
  return PLACEHOLDER.exec(template)?.groups?.variable
}
