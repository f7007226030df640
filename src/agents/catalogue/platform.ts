import { posix, win32 } from 'node:path'
import type { System } from './catalogue.schema.ts'

/** What a place depends on. It comes in as an argument, so that every system is tested on one. */
export interface Platform {
  readonly os: System
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  exists(path: string): boolean
  /** The names in a folder; none when it is not there. */
  list(folder: string): readonly string[]
}

/** What Windows says when the variable is not set, below the home folder or absolute. */
const WINDOWS_FOLDERS: Readonly<Record<string, string>> = {
  USERPROFILE: '~',
  APPDATA: '~\\AppData\\Roaming',
  LOCALAPPDATA: '~\\AppData\\Local',
  PROGRAMDATA: 'C:\\ProgramData',
  PROGRAMFILES: 'C:\\Program Files',
}
const PLACEHOLDER = /^(?:~|\$(?<variable>\w+)|%(?<folder>\w+)%)(?=[\\/]|$)/

export const pathsOf = (platform: Platform) => (platform.os === 'win32' ? win32 : posix)

/** Windows asks for its variables in any case. */
export function variable(platform: Platform, name: string): string | undefined {
  if (platform.os !== 'win32') return platform.env[name] || undefined
  const wanted = name.toUpperCase()
  const found = Object.keys(platform.env).find((key) => key.toUpperCase() === wanted)
  return (found && platform.env[found]) || undefined
}

/**
 * The path with its placeholder filled in; undefined when this system has none of that name, when the variable is not
 * set, or when it holds a relative path: nobody knows in which folder the agent will be started.
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

/** The XDG specification: `~/.config` when it is not set or not absolute. */
function xdgConfig(platform: Platform): string {
  const set = variable(platform, 'XDG_CONFIG_HOME')
  const path = pathsOf(platform)
  return set !== undefined && path.isAbsolute(set) ? set : path.join(platform.home, '.config')
}

/** The one variable that an override depends on. */
export function variableIn(template: string): string | undefined {
  return PLACEHOLDER.exec(template)?.groups?.variable
}
