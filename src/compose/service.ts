import type { Config } from '../kernel/config/config.ts'
import { bindOf } from '../kernel/config/host.ts'
import { assertMayBind } from '../kernel/config/token.ts'
import { Closer } from './closer.ts'
import { openCore } from './core.ts'
import type { Service, ServiceOptions } from './service-options.ts'

/**
 * Opens everything from the bottom up, and closes it in reverse. What tool servers need comes first. The rest is loaded
 * while the processes of the first ones start, which takes as long.
 */
export async function openService(config: Config, options: ServiceOptions): Promise<Service> {
  const bind = assertMayBind(bindOf(config.host), config.host, config.auth_token)
  const closer = new Closer((name, error) => options.warn(`Closing ${name} failed: ${String(error)}`))
  try {
    const core = await openCore(config, options, bind.address, bind.loopback, closer)
    const { openDoors } = await import('./doors.ts')
    return await openDoors(core)
  } catch (error) {
    await closer.close()
    throw error
  }
}
