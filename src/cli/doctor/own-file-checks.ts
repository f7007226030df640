import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../kernel/config/config.ts'
import { runningInstance } from '../../kernel/config/find-running-instance.ts'
import { shortPath } from '../run/human-readable.ts'
import { TEMPORARY } from '../service/service-for-one-command.ts'
import { type Finding, hint } from './finding.ts'

/** A command that is running now has a younger folder. */
const LEFT_AFTER_MS = 600_000

/** Files of Toolroom that other users can read, and temporary folders that a killed command has left. */
export const ownFileFindings = ({ folders }: Pick<Config, 'folders'>): Finding[] => [
  ...(process.platform === 'win32' ? [] : openFiles(folders)),
  ...leftFolders(),
]

/** A start corrects most of them. Settings can contain the token. */
function openFiles({ data, config }: Config['folders']): Finding[] {
  const files = ['', 'token', 'config.json', '.env', 'up.log'].map((name) => join(data, name))
  return [...files, join(config, 'secret.key')].flatMap((path): Finding[] => {
    const stat = ownStat(path)
    if (!stat || stat.isSymbolicLink() || (stat.mode & 0o077) === 0) return []
    const [before, after] = [stat.mode & 0o777, stat.mode & 0o700]
    const fix = {
      does: `Allow only your user to open ${path}`,
      undo: `chmod ${before.toString(8)} '${path}'`,
      apply: () => chmod(path, after),
    }
    return [hint(`Other users of this computer can open ${shortPath(path)}`, undefined, [fix])]
  })
}

function leftFolders(): Finding[] {
  const names = readdirSync(tmpdir()).filter((name) => name.startsWith(TEMPORARY))
  return names.flatMap((name): Finding[] => {
    const path = join(tmpdir(), name)
    const stat = ownStat(path)
    const isLeft =
      stat?.isDirectory() && Date.now() - stat.mtimeMs > LEFT_AFTER_MS && runningInstance(path) === undefined
    if (!isLeft) return []
    const fix = {
      does: `Delete ${path}`,
      undo: 'not needed, nothing uses it',
      apply: () => rm(path, { recursive: true, force: true }),
    }
    return [hint(`A command that was killed has left ${path}`, undefined, [fix])]
  })
}

/** Undefined if there is no such file, or if it belongs to another user. */
function ownStat(path: string): Stats | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat && (process.getuid === undefined || stat.uid === process.getuid()) ? stat : undefined
}
