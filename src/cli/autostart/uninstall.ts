import type { Run } from '../run/context.ts'
import { stopService } from '../service/stop-service.ts'
import { asFailure, managerHere } from './manager-here.ts'

/** `toolroom service uninstall`: stops the service and removes its file. Toolroom's data stays. */
export const uninstallService: Run = async (context) => {
  const { config, given, during } = context
  const manager = managerHere(config)
  const { file, installed, pid } = await asFailure(manager.state())
  if (!installed) return { json: { file, removed: false, pid: null }, lines: ['No service is installed.'] }
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, file, pid },
      lines: [`Would stop the service and delete ${file}`, 'Nothing was changed (--dry-run).'],
    }
  if (pid !== null && !manager.asksToEnd)
    await during('Stopping', stopService(context.api, config.folders.data))
  await during('Stopping', asFailure(manager.uninstall()))
  return {
    json: { file, removed: true, pid },
    lines: [`Deleted ${file}${pid === null ? '' : `; the service (process ${pid}) has stopped`}`],
    next: 'Your servers and settings are still there: toolroom up',
  }
}
