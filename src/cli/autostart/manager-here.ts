import { userInfo } from 'node:os'
import type { Config } from '../../kernel/config/config.ts'
import { serviceFile } from '../../kernel/config/paths.ts'
import { Failure } from '../run/failure.ts'
import { Launchd } from './launchd.ts'
import type { RunTool } from './run-tool.ts'
import type { ServiceManager } from './service-manager.ts'
import { Systemd } from './systemd.ts'
import { TaskScheduler } from './task-scheduler.ts'

/** The service manager of this computer. */
export function managerHere(
  { platform, folders: { data } }: Pick<Config, 'platform' | 'folders'>,
  run?: RunTool,
): ServiceManager {
  const file = serviceFile(platform, data)
  const { uid, username } = userInfo()
  const { os, env } = platform
  if (os === 'linux') return new Systemd(file, run)
  if (os === 'darwin') return new Launchd({ file, data, uid, run })
  if (os === 'win32') return new TaskScheduler({ file, data, env, userName: env.USERNAME || username, run })
  throw new Failure(
    'failed',
    `toolroom service needs systemd, launchd or the Task Scheduler, and ${os} has none of them`,
    'Start Toolroom with `toolroom up --detach`',
    'not_supported',
  )
}

/** What the service manager refuses ends the command with its sentence. */
export async function asFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Failure(
      'failed',
      why,
      'Without a service manager, use `toolroom up --detach`',
      'service_manager',
    )
  }
}
