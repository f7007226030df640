import { configError, StartError } from '../kernel/exit-codes.ts'
import { sqliteErrorKind } from '../store/sqlite/sqlite-errors.ts'

/** What the file system says, by its code. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use it; correct its owner and permissions',
  EPERM: 'this user may not use it; correct its owner and permissions',
  EROFS: 'its file system is read-only; mount it writable, or set TOOLROOM_HOME to another folder',
  EISDIR: 'it is a folder where a file is expected; move it away',
  ENOTDIR: 'a part of its path is not a folder; move that away',
  ELOOP: 'its links lead in a circle; remove them',
  ENOSPC: 'the disk is full; free some space',
  EDQUOT: 'the quota of this user is used up; free some space',
  EIO: 'the disk cannot be read; check it',
}

/** An error of the file system or of SQLite during the start, as one line for the terminal. Other errors are unchanged. */
export function startRefused(error: unknown, folder: string): unknown {
  if (error instanceof StartError || !(error instanceof Error)) return error
  const { code, path } = error as NodeJS.ErrnoException
  const reason = code === undefined ? undefined : REASONS[code]
  if (reason !== undefined && 'syscall' in error)
    return configError(`Toolroom cannot start, because ${path ?? folder} cannot be used: ${reason}`, error)
  switch (sqliteErrorKind(error)) {
    case 'full':
      return configError(
        `Toolroom cannot start, because the disk of ${folder} is full; free some space`,
        error,
      )
    case 'read_only':
    case 'not_opened':
      return configError(
        `Toolroom cannot start, because a database in ${folder} cannot be written; correct the owner and permissions of its files, and check that its file system is not read-only`,
        error,
      )
    case 'io':
    case 'damaged':
      return new StartError(
        'store_damaged',
        `Toolroom cannot start, because a file in ${folder} cannot be read: ${error.message}`,
        error,
      )
    default:
      return error
  }
}
