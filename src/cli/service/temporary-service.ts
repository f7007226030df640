import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChildService, openChildService } from './child-service.ts'

/** How the names of its folders begin. */
export const TEMPORARY = 'toolroom-temporary-'

/** A service with an empty data folder of its own, for commands that only read agents' files. */
export interface TemporaryService extends ChildService {
  readonly token: string
  readonly folder: string
}

/** Starts it. It registers nothing, checks nothing and leaves nothing behind, even if a signal ends this process. */
export async function openTemporaryService(mainFile: string): Promise<TemporaryService> {
  const folder = mkdtempSync(join(tmpdir(), TEMPORARY))
  const token = randomBytes(32).toString('hex')
  const service = await openChildService({
    mainFile,
    env: {
      ...process.env,
      TOOLROOM_HOME: folder,
      TOOLROOM_SECRET_KEY: randomBytes(32).toString('hex'),
      AUTH_TOKEN: token,
      HTTP_CHECK_INTERVAL_S: '0',
    },
    endsBy: 'SIGKILL', // it has no state that a kill could damage, and its helper ends what it has started
    onEnd: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }),
    cannot: 'The files of agents cannot be read',
  })
  return { ...service, token, folder }
}
