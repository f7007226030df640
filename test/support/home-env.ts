import { lstatSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const IS_WINDOWS = process.platform === 'win32'

/** Without these, Windows programs do not start, or do not find other programs. */
const NEEDED = ['SystemRoot', 'ComSpec', 'PATHEXT', 'TEMP', 'TMP', 'USERNAME', 'USERDOMAIN']

/** The variables with which a program takes this folder for its home, with data and settings where Linux has them. */
export function homeEnv(home: string): Record<string, string> {
  if (!IS_WINDOWS) return { HOME: home }
  const needed = NEEDED.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  return {
    ...Object.fromEntries(needed),
    HOME: home,
    USERPROFILE: home,
    LOCALAPPDATA: join(home, '.local', 'share'),
    APPDATA: join(home, '.config'),
  }
}

/** What `chmod 600` and `chmod 700` give. Windows has access lists instead: see src/kernel/config/system/data-folder.ts. */
export const PRIVATE_FILE = IS_WINDOWS ? 0o666 : 0o600
export const PRIVATE_FOLDER = IS_WINDOWS ? 0o666 : 0o700

/** Whether this user may create symbolic links. On Windows only an administrator or a developer may. */
export const mayLink = !IS_WINDOWS || canLink('file')

/** Whether a folder can have a second path, as Toolroom needs it for the current version of a package. */
export const mayJunction = !IS_WINDOWS || canLink('junction')

function canLink(type: 'file' | 'junction'): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-test-'))
  try {
    symlinkSync(folder, join(folder, 'link'), type)
    return lstatSync(join(folder, 'link')).isSymbolicLink() // Wine reports success
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
