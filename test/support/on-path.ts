import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of an installed program. */
export function onPath(program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file))
}
