import { dirname } from 'node:path'
import { isGrantable, isInside } from '../../../kernel/grantable-path.ts'
import {
  existingFolder,
  MAX_EVIDENCE,
  MAX_REFUSALS,
  type Outside,
  type Refusal,
} from './isolation-refusals.ts'
import { MAX_LOST_FILES } from './isolation-trial.schema.ts'

type Clean = (text: string) => string

const MAX_SHOWN = 500

/** How the report names files that are in memory only. A server can give a file any name. */
export const lostFilesShown = (paths: readonly string[], { home }: Outside, clean: Clean): string[] =>
  paths.slice(0, MAX_LOST_FILES).map((path) => shown(path, home, clean, MAX_SHOWN))

/**
 * The folders outside that would keep these files, where a path may be granted. A folder inside of another one, or of one in
 * `known`, is left out. So are hidden folders of the home: they hold caches and settings, which a server can do without.
 */
export function refusalsOfLost(
  paths: readonly string[],
  known: readonly Refusal[],
  outside: Outside,
  clean: Clean,
): Refusal[] {
  const { home } = outside
  const folders = new Map<string, string>()
  const seen = new Set<string>()
  for (const path of paths) {
    const parent = dirname(path)
    if (seen.has(parent) || path.startsWith(`${home}/.`)) continue
    seen.add(parent)
    const folder = existingFolder(parent)
    if (isGrantable(folder, outside) && !folders.has(folder)) folders.set(folder, path)
  }
  const named = known.flatMap(({ kind, path }) => (kind === 'write' && path !== null ? [path] : []))
  const isNeeded = (folder: string) =>
    !named.some((each) => isInside(folder, each)) &&
    ![...folders.keys()].some((each) => each !== folder && isInside(folder, each))
  return [...folders]
    .filter(([folder]) => isNeeded(folder))
    .slice(0, Math.max(0, MAX_REFUSALS - known.length))
    .map(([folder, file]) => ({
      kind: 'write',
      path: folder,
      evidence: `${shown(file, home, clean, MAX_EVIDENCE - END.length)}${END}`,
      seen_in: 'lost_files',
    }))
}

const END = ' was written in memory only and is lost at the end'

function shown(path: string, home: string, clean: Clean, most: number): string {
  const short = path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
  return clean(short).replace(CONTROL, '?').slice(0, most)
}

/** They could move the cursor of a terminal, or reverse the order of what is shown. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
