import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { writeDurably } from '../../kernel/durable-file.ts'
import { StartError } from '../../kernel/exit.ts'

/** The newest file that was set aside, as long as nothing has taken its place. */
export function lastSetAside(path: string): string | undefined {
  if (existsSync(path)) return undefined
  const prefix = `${basename(path)}.damaged-`
  const names = readdirSync(dirname(path)).filter(
    (name) => name.startsWith(prefix) && !/-(?:wal|shm)$/.test(name),
  )
  const newest = names.sort().at(-1)
  return newest === undefined ? undefined : join(dirname(path), newest)
}

export function restore(backup: string, path: string): void {
  writeDurably(path, readFileSync(backup), 0o600)
}

/** The start ends here: an empty list of servers would look as if nothing had ever been there. */
export function refuseDamaged(aside: string, backup: string | undefined, why: string): StartError {
  const happened = `The database is damaged (${why}) and was set aside as ${aside}`
  return new StartError('store_damaged', `${happened}; ${nextStep(backup)}`)
}

export function refuseLost(path: string, aside: string | undefined, backup: string | undefined): StartError {
  const happened = aside
    ? `The database was set aside as ${aside} because it is damaged`
    : `The database ${path} is gone`
  return new StartError('store_damaged', `${happened}; ${nextStep(backup)}`)
}

function nextStep(backup: string | undefined): string {
  return backup
    ? `start with --restore to go on from the backup ${backup}, or with --start-empty to begin anew`
    : 'there is no backup; start with --start-empty to begin anew'
}
