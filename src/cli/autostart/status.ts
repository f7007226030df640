import type { Run } from '../run/context.ts'
import { asFailure, managerHere } from './manager-here.ts'

/** `toolroom service status` */
export const showServiceState: Run = async ({ config }) => {
  const manager = managerHere(config)
  const state = await asFailure(manager.state())
  const { file, installed, enabled, running, failed, pid } = state
  const first = installed
    ? `Toolroom is a service of ${manager.name}: ${running ? `running (process ${pid})` : failed ? 'failed' : 'not running'}, ${enabled ? 'starts at login' : 'does not start at login'}`
    : 'No service is installed.'
  return {
    json: { manager: manager.name, ...state },
    lines: [first, ...(installed ? [`  ${file}`] : []), ...(failed ? [`See ${manager.logCommand}`] : [])],
    plain: [[manager.name, installed, enabled, running, pid, file]],
    exit: running ? undefined : 'not_running',
    next: installed ? undefined : 'next: toolroom service install',
  }
}
