import { Connection } from '../sqlite/connection.ts'
import { isUnusable, migrate, openDataFile, setAside } from '../sqlite/data-file.ts'
import { CALL_SCHEMA } from './schema.ts'

type Report = (message: string) => void

/**
 * Opens `calls.db`, or creates it. An unusable file is renamed and reported, and the history continues in an empty file.
 * When no file can be opened it is kept in memory: the history never prevents the service from starting.
 */
export function openCallFile(path: string, onTrouble: Report): Connection {
  try {
    return openDataFile(path, CALL_SCHEMA)
  } catch (error) {
    return isUnusable(error) ? replaceCallFile(path, error, onTrouble) : openInMemory(error, onTrouble)
  }
}

/** The caller has closed every connection to the file. */
export function replaceCallFile(path: string, reason: unknown, onTrouble: Report): Connection {
  try {
    const aside = setAside(path)
    onTrouble(
      `The call history could not be read (${whyOf(reason)}) and was replaced by an empty one; the old file is now ${aside}`,
    )
    return openDataFile(path, CALL_SCHEMA)
  } catch (error) {
    return openInMemory(error, onTrouble)
  }
}

function openInMemory(reason: unknown, onTrouble: Report): Connection {
  onTrouble(`The call history cannot be stored (${whyOf(reason)}) and is kept in memory until the next start`)
  const connection = new Connection(':memory:')
  migrate(connection, CALL_SCHEMA.migrations)
  return connection
}

const whyOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason))
