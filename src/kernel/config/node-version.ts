import { configError } from '../exit-codes.ts'

/** On Windows the SQLite add-on of older versions keeps a closed database open, so a damaged one could not be renamed. */
const ON_WINDOWS = [22, 13] as const

/** Throws for a Node version that cannot run the service on this system. */
export function assertNodeVersion(os: NodeJS.Platform, version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < ON_WINDOWS[0] || (major === ON_WINDOWS[0] && minor < ON_WINDOWS[1])
  if (os === 'win32' && isOld)
    throw configError(
      `On Windows, Toolroom needs Node ${ON_WINDOWS.join('.')} or newer; this is Node ${version}. Install a newer Node`,
    )
}
