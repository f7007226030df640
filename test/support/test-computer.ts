import { posix, win32 } from 'node:path'
import type { Platform } from '../../src/agents/catalogue/agent-catalogue.ts'

/** A computer with exactly these files, independent of the real one. A folder exists if it contains a file. */
export function computer(facts: {
  readonly os: Platform['os']
  readonly files?: readonly string[]
  readonly env?: Platform['env']
}): Platform {
  const { os, files = [], env = {} } = facts
  const { sep } = os === 'win32' ? win32 : posix
  const home = { linux: '/home/ada', darwin: '/Users/ada', win32: 'C:\\Users\\ada' }[os]
  const exists = (path: string) => files.some((file) => file === path || file.startsWith(path + sep))
  const list = (folder: string) => {
    const start = folder.endsWith(sep) ? folder : folder + sep
    const inside = files.filter((file) => file.startsWith(start))
    return [...new Set(inside.map((file) => file.slice(start.length).split(sep)[0] ?? ''))]
  }
  return { os, home, env, exists, list }
}
