import type { Connection } from '../sqlite/connection.ts'
import { isUnusable, openDataFile, setAside } from '../sqlite/database-file.ts'
import { LOG_SCHEMA } from './log-schema.ts'

/** Opens `logs.db`, or creates it. An unusable file is renamed and reported, and the log continues in an empty file. */
export function openLogFile(path: string, onDamaged: (message: string) => void): Connection {
  try {
    return openDataFile(path, LOG_SCHEMA)
  } catch (error) {
    if (!isUnusable(error)) throw error
    setAsideLog(path, error, onDamaged)
    return openDataFile(path, LOG_SCHEMA)
  }
}

/** The caller has closed every connection to the file. */
export function setAsideLog(path: string, reason: unknown, onDamaged: (message: string) => void): void {
  const aside = setAside(path)
  const why = reason instanceof Error ? reason.message : String(reason)
  onDamaged(
    `The log could not be read (${why}) and was replaced by an empty one; the old file is now ${aside}`,
  )
}
