import { darwinWith } from './darwin/darwin.ts'
import { platform as linux } from './linux/linux.ts'
import type { Platform } from './platform.ts'
import { openWindows } from './windows/windows.ts'

/** The operating system that Toolroom runs on. */
export const thisPlatform: Platform = choose()

function choose(): Platform {
  if (process.platform === 'win32') return openWindows()
  return process.platform === 'darwin' ? darwinWith() : linux
}
