import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { StartError } from '../../kernel/exit.ts'

/** The newest file that was set aside, unless a new database has replaced it. */
export function lastSetAside(path: string): string | undefined {
  if (existsSync(path)) return undefined
  const prefix = `${basename(path)}.damaged-`
  const names = readdirSync(dirname(path)).filter(
    (name) => name.startsWith(prefix) && !/-(?:wal|shm)$/.test(name),
  )
  const newest = names.sort().at(-1)
  return newest === undefined ? undefined : join(dirname(path), newest)
}

/** The service does not start with an empty database instead: an empty list of servers would hide the loss. */
export function refuseDamaged(aside: string, backup: string | undefined, why: string): StartError {
  const happened = `The database is damaged (${why}) and was set aside as ${aside}`
  return new StartError('store_damaged', `${happened}; ${nextStep(backup)}`)
}

export function refuseLost(path: string, aside: string | undefined, backup: string | undefined): StartError {
  const happened = aside
    ? `The damaged database was set aside as ${aside}`
    : `The database ${path} is missing`
  return new StartError('store_damaged', `${happened}; ${nextStep(backup)}`)
}

function nextStep(backup: string | undefined): string {
  return backup
    ? `start with --restore to continue from the backup ${backup}, or with --start-empty to start without data`
    : 'there is no backup; start with --start-empty to start without data'
}
