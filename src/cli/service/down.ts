import type { Run } from '../run/context.ts'
import { stopService } from './stop-service.ts'

/** `toolroom down`: stops the service and all its servers. */
export const down: Run = async ({ api, service, config, given, during }) => {
  const { address } = service
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, address },
      lines: [`Would stop the Toolroom at ${address}`, 'Nothing was changed (--dry-run).'],
    }
  const data = given.flag('url') === undefined ? config.folders.data : undefined
  const instance = await during('Stopping', stopService(api, data))
  const who = instance
    ? `Toolroom (process ${instance.pid}) has stopped`
    : `The Toolroom at ${address} is stopping`
  return {
    json: { address, pid: instance?.pid ?? null, status: instance ? 'stopped' : 'stopping' },
    lines: [who],
    next: 'next: toolroom up --detach',
  }
}
