import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInside } from '../../kernel/grantable-path.ts'

/** Where a path leads. `link`: through a link in a folder that a server may have changed. `nothing`: it does not exist. */
export type Followed =
  | { readonly found: 'path'; readonly path: string }
  | { readonly found: 'link'; readonly link: string; readonly target: string }
  | { readonly found: 'nothing' }

const MAX_LINKS = 40

/**
 * Follows the links of an absolute path, but none in the folders that a server in isolation may write or could write once,
 * which are given as real paths: it can put one there that leads anywhere, and what is mounted at the next start is what the
 * link leads to.
 */
export function follow(path: string, written: readonly string[]): Followed {
  const left = partsOf(path)
  let folder = '/'
  let links = 0
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '..') folder = dirname(folder)
    if (name === '..' || name === '.') continue
    const file = join(folder, name)
    const target = linkAt(file)
    if (target === undefined) return { found: 'nothing' }
    if (target === null) folder = file
    else {
      if (isWritten(folder, written)) return { found: 'link', link: file, target }
      links += 1
      if (links > MAX_LINKS) return { found: 'nothing' }
      if (target.startsWith('/')) folder = '/'
      left.unshift(...partsOf(target))
    }
  }
  return { found: 'path', path: folder }
}

const isWritten = (folder: string, written: readonly string[]): boolean =>
  written.some((each) => isInside(folder, each))

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '')

/** What a link leads to; null for a file or folder; undefined if there is nothing, or nothing that can be reached. */
function linkAt(file: string): string | null | undefined {
  try {
    return lstatSync(file).isSymbolicLink() ? readlinkSync(file) : null
  } catch {
    return undefined
  }
}
