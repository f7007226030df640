import { join } from 'node:path'
import type { ServiceOptions } from '../../src/compose/basics.ts'
import { openService } from '../../src/compose/service.ts'
import { readConfig } from '../../src/kernel/config/config.ts'
import { readFlags } from '../../src/kernel/config/up-flags.ts'
import { ownFolder } from './folder.ts'
import { atEnd } from './lifetime.ts'
import { openStoresHere } from './logs.ts'
import { AUTHORISED, TOKEN } from './token.ts'

export { AUTHORISED, TOKEN }

interface Options extends Partial<ServiceOptions> {
  readonly env?: Readonly<Record<string, string>>
  /** An existing home directory, to restart with its data. */
  readonly home?: string
}

/** The whole service in this process, on a free port, with its own home directory; closed after the test. */
export async function openTestService({ env = {}, home = ownFolder(), ...options }: Options = {}) {
  const config = readConfig({
    flags: readFlags([]),
    platform: {
      os: process.platform === 'win32' ? 'win32' : 'linux', // where macOS keeps files is tested with tables
      home,
      env: {
        TOOLROOM_HOME: join(home, 'data'),
        XDG_CONFIG_HOME: join(home, 'config'),
        APPDATA: join(home, 'config'),
        PORT: '0',
        AUTH_TOKEN: TOKEN,
        HTTP_CHECK_INTERVAL_S: '0', // no background requests in tests
        ...env,
      },
    },
    packageRoot: join(home, 'checkout'),
  })
  const warnings: string[] = []
  const service = await openService(config, {
    warn: (text) => warnings.push(text),
    openStores: openStoresHere,
    ...options,
  })
  atEnd(() => service.close())
  const { fastify } = service.app
  return {
    ...service,
    home,
    data: join(home, 'data'),
    fastify,
    warnings,
    inject: fastify.inject.bind(fastify),
  }
}

export type TestService = Awaited<ReturnType<typeof openTestService>>

/** The service in this process with the home of a launched program, to read what that left behind. */
export async function openHomeOf(home: string) {
  const env = {
    TOOLROOM_HOME: join(home, '.local/share/toolroom'),
    XDG_CONFIG_HOME: join(home, '.config'),
    APPDATA: join(home, '.config'),
  }
  const service = await openTestService({ home, env })
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { ...AUTHORISED, ...(body && { 'content-type': 'application/json' }) }
    const request = { method: method as 'GET', url: `/api${path}`, headers, ...(body && { payload: body }) }
    const reply = await service.inject(request)
    return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json() }
  }
  return { ...service, ask }
}
