import { Connection } from '../sqlite/connection.ts'
import { isUnusable, migrate, openDataFile, setAside } from '../sqlite/database-file.ts'
import { METRICS_SCHEMA } from './metrics-schema.ts'

/**
 * Opens `metrics.db`, or creates it. An unusable file is renamed and reported, and the metrics continue in an empty
 * file. When no file can be opened they are kept in memory: metrics never prevent the service from starting.
 */
export function openMetricsFile(path: string, onTrouble: (message: string) => void): Connection {
  try {
    return openDataFile(path, METRICS_SCHEMA)
  } catch (error) {
    return isUnusable(error) ? replaceMetricsFile(path, error, onTrouble) : openInMemory(error, onTrouble)
  }
}

/** The caller has closed every connection to the file. */
export function replaceMetricsFile(
  path: string,
  reason: unknown,
  onTrouble: (message: string) => void,
): Connection {
  try {
    const aside = setAside(path)
    onTrouble(
      `The metrics could not be read (${whyOf(reason)}) and were replaced by an empty file; the old file is now ${aside}`,
    )
    return openDataFile(path, METRICS_SCHEMA)
  } catch (error) {
    return openInMemory(error, onTrouble)
  }
}

function openInMemory(reason: unknown, onTrouble: (message: string) => void): Connection {
  onTrouble(`The metrics cannot be stored (${whyOf(reason)}) and are kept in memory until the next start`)
  const connection = new Connection(':memory:')
  migrate(connection, METRICS_SCHEMA.migrations)
  return connection
}

const whyOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason))
