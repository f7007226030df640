import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of promtool, which `npm test` installs; undefined if it is not on PATH. */
export function findPromtool(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.map((folder) => join(folder, 'promtool')).find(existsSync)
}
