import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../run/context.ts'
import { findAddress } from '../run/service-address.ts'
import type { Api } from '../run/service-client.ts'

/**
 * The API for commands that must work after `toolroom down`. If no service is running, one is started on the same data
 * folder, without its servers, and ends with the command. Without a data folder there is nothing to do: exit code 3.
 */
export async function withOwnService<T>(context: Context, work: (api: Api) => Promise<T>): Promise<T> {
  const { config, given, note, mainFile, during } = context
  const { data } = config.folders
  const isNeeded = given.flag('url') === undefined && findAddress(data) === undefined
  if (!isNeeded || !existsSync(join(data, 'toolroom.db'))) return work(context.api)
  note('Toolroom is not running. It is started for this command, without its servers.')
  const { openChildService } = await import('./child-service.ts')
  const opening = openChildService({
    mainFile,
    flags: ['--no-servers'],
    env: process.env,
    askToEnd: () => context.api.post('/api/shutdown'),
    endsBy: 'SIGTERM',
    cannot: 'Toolroom cannot be started',
  })
  const service = await during('Starting Toolroom', opening)
  try {
    return await work(context.api)
  } finally {
    await service.close()
  }
}
