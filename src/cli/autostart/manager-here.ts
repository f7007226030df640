import type { Config } from '../../config/config.ts'
import { Failure } from '../frame/failure.ts'
import type { ServiceManager } from './service-manager.ts'
import { Systemd } from './systemd.ts'

/** The service manager of this computer. */
export function managerHere({ platform }: Pick<Config, 'platform'>): ServiceManager {
  if (platform.os === 'linux') return new Systemd(platform)
  throw new Failure(
    'failed',
    'So far, toolroom service works on Linux with systemd only',
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
