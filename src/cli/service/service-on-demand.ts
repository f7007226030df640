import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../run/command-context.ts'
import { findAddress } from '../run/service-address.ts'
import { type Api, ServiceClient } from '../run/service-client.ts'
import type { TemporaryService } from './service-for-one-command.ts'

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
  const { openChildService } = await import('./service-for-one-command.ts')
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

/**
 * The API for commands that read agents' files also when no service is running: then a temporary one reads them, and a line
 * on stderr says so.
 */
export async function withReadingApi<T>(context: Context, read: (api: Api) => Promise<T>): Promise<T> {
  const { config, given, note } = context
  if (given.flag('url') !== undefined || findAddress(config.folders.data) !== undefined)
    return read(context.api)
  note('Toolroom is not running. This is what it would find; start it with `toolroom up`.')
  return withTemporaryApi(context, read)
}

/** The API of a service with an empty data folder, which ends with `read`: what it registers is gone, too. */
export async function withTemporaryApi<T>(
  { config, mainFile, during }: Context,
  read: (api: Api, at: Pick<TemporaryService, 'address' | 'folder'>) => Promise<T>,
): Promise<T> {
  const { openTemporaryService } = await import('./service-for-one-command.ts')
  const temporary = await during("Reading the agents' files", openTemporaryService(mainFile))
  const client = new ServiceClient(temporary.address, { ...config, auth_token: temporary.token })
  try {
    return await read(client.api, temporary)
  } finally {
    client.close()
    await temporary.close()
  }
}
