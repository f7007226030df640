import type { App } from '../api/http/app.ts'
import type { Log } from '../kernel/log.ts'
import type { Servers } from '../servers/stdio/servers.service.ts'
import type { Platform } from '../supervisor/platform/platform.ts'
import type { OpenStores } from './logging.ts'

export interface ServiceOptions {
  /** The operating system. By default, the one that the service runs on. */
  readonly platform?: Platform
  readonly afterDamage?: 'restore' | 'start_empty' | undefined
  /** No server starts by itself. */
  readonly withoutServers?: boolean | undefined
  /** Writes a warning to the terminal: one that cannot be logged, or that must not be overlooked. */
  readonly warn: (sentence: string) => void
  readonly openStores: OpenStores
  /** Called when the port is open. The gateway answers at once, the API a moment later. */
  readonly onOpen?: (at: Pick<Service, 'address' | 'tokenFile' | 'warnings'>) => void
  /** Ends the process as a signal does. By default, the service is closed. */
  readonly shutDown?: (() => void) | undefined
  /** The program that agents start as their bridge. */
  readonly mainFile?: string | undefined
  /** The folder with the built dashboard. */
  readonly webFolder?: string | undefined
  /** The folder with the rendered guide. */
  readonly docsFolder?: string | undefined
}

export interface Service {
  readonly app: App
  /** For callers in the same process. */
  readonly rooms: { readonly servers: Servers }
  readonly address: string
  readonly tokenFile: string | null
  readonly warnings: readonly string[]
  readonly log: Log
  close(): Promise<void>
}
