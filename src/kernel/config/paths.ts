import { isAbsolute, posix, resolve, win32 } from 'node:path'

/** What decides where files are kept. Passed in, so that every platform can be tested on one. */
export interface Platform {
  readonly os: NodeJS.Platform
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Folders {
  /** Database, token, backups. */
  readonly data: string
  /** The secret key. Separate from the data, so that a copied data folder cannot be decrypted. */
  readonly config: string
}

export function foldersOf(platform: Platform, toolroomHome?: string): Folders {
  const { data, config } = platformFolders(platform)
  return { data: toolroomHome === undefined ? data : resolve(toolroomHome), config }
}

/** The file that describes Toolroom to the user's launchd, Task Scheduler or systemd. */
export function serviceFile(
  { os, home, env }: Pick<Platform, 'home' | 'env'> & { readonly os: string },
  data: string,
): string {
  if (os === 'darwin') return posix.join(home, 'Library', 'LaunchAgents', 'dev.toolroom.plist')
  if (os === 'win32') return win32.join(data, 'login-task.xml')
  return posix.join(configHome({ home, env }), 'systemd', 'user', 'toolroom.service')
}

const configHome = ({ home, env }: Pick<Platform, 'home' | 'env'>): string =>
  env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME) ? env.XDG_CONFIG_HOME : posix.join(home, '.config')

function platformFolders({ os, home, env }: Platform): Folders {
  const absolute = (path: string | undefined, fallback: string) =>
    path && isAbsolute(path) ? path : fallback
  if (os === 'win32') {
    const local = env.LOCALAPPDATA ?? win32.join(home, 'AppData', 'Local')
    const roaming = env.APPDATA ?? win32.join(home, 'AppData', 'Roaming')
    return { data: win32.join(local, 'toolroom'), config: win32.join(roaming, 'toolroom') }
  }
  if (os === 'darwin') {
    const library = posix.join(home, 'Library')
    const data = posix.join(library, 'Application Support', 'toolroom')
    return { data, config: posix.join(library, 'Preferences', 'toolroom') }
  }
  return {
    data: posix.join(absolute(env.XDG_DATA_HOME, posix.join(home, '.local', 'share')), 'toolroom'),
    config: posix.join(configHome({ home, env }), 'toolroom'),
  }
}
