import { posix, win32 } from 'node:path'
import type { System } from './catalogue.schema.ts'

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

export const pathsOf = (platform: Platform) => (platform.os === 'win32' ? win32 : posix)

/** On Windows the names of variables are case-insensitive. */
export function variable(platform: Platform, name: string): string | undefined {
  if (platform.os !== 'win32') return platform.env[name] || undefined
  const wanted = name.toUpperCase()
  const found = Object.keys(platform.env).find((key) => key.toUpperCase() === wanted)
  return (found && platform.env[found]) || undefined
}

/**
 * The path with its placeholder replaced. Undefined if this system has no such placeholder, if the variable is not set,
 * or if its value is relative: the folder in which the agent will be started is unknown.
 */
export function resolve(template: string, platform: Platform, project?: string): string | undefined {
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
export function variableIn(template: string): string | undefined {
  return PLACEHOLDER.exec(template)?.groups?.variable
}
