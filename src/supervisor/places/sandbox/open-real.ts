import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { isInside } from '../../../kernel/grantable-path.ts'

/**
 * Opens a real path, not to read it but to mount it. Throws if one of its parts in a folder that a server may have changed is
 * a link by now. Only on Linux.
 */
export function openReal(path: string, written: readonly string[]): number {
  const [folder] = written.filter((each) => isInside(path, each)).sort((a, b) => a.length - b.length)
  let file = openSync(folder ?? path, O_PATH | constants.O_NOFOLLOW)
  for (const part of folder === undefined ? [] : path.slice(folder.length).split('/').slice(1)) {
    const around = file
    try {
      file = openSync(`/proc/self/fd/${around}/${part}`, O_PATH | constants.O_NOFOLLOW)
    } finally {
      closeSync(around)
    }
  }
  if (!fstatSync(file).isSymbolicLink()) return file
  closeSync(file)
  throw new Error(`${path} was replaced by a link`)
}

/** On every processor that Node runs on. Node has no name for it. */
const O_PATH = 0o10000000
