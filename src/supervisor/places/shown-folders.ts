import { statSync } from 'node:fs'
import path from 'node:path'
import { isInside, realPathOf } from '../../kernel/grantable-path.ts'

/** What stays hidden inside of folders that are shown: by where it is, because a folder can have several names. */
export function insideOf(
  shown: Iterable<{ readonly path: string; readonly source?: string }>,
  hidden: readonly string[],
): string[] {
  const real = [...new Set(hidden.map(realPathOf))].filter((folder) => folder !== '/')
  return [...shown].flatMap(({ path: at, source }) =>
    real.flatMap((folder) =>
      source !== undefined && folder !== source && isInside(folder, source) && isFolder(folder)
        ? [path.join(at, path.relative(source, folder))]
        : [],
    ),
  )
}

export const isOwn = (file: string, source: string, own: readonly string[]): boolean =>
  own.some((folder) => isInside(file, folder) || isInside(source, realPathOf(folder)))

const isFolder = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isDirectory() === true
