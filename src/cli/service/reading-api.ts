import type { Context } from '../run/context.ts'
import { findAddress } from '../run/service-address.ts'
import { type Api, ServiceClient } from '../run/service-client.ts'

import type { TemporaryService } from './temporary-service.ts'

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
  const { openTemporaryService } = await import('./temporary-service.ts')
  const temporary = await during("Reading the agents' files", openTemporaryService(mainFile))
  const client = new ServiceClient(temporary.address, { ...config, auth_token: temporary.token })
  try {
    return await read(client.api, temporary)
  } finally {
    client.close()
    await temporary.close()
  }
}
