import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { programName } from '../../../src/kernel/config/program-name.ts'
import { writeDashboardHome } from '../../support/dashboard-home.ts'
import { ownFolder } from '../../support/folder.ts'
import { sharedByTests } from '../../support/lifetime.ts'
import { openService } from '../../support/service-process.ts'

/** How a command begins where the built service runs with this home. */
export const programAt = (home: string): string => programName({ mainFile: MAIN, home, cwd: home })
const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))

interface Options {
  readonly env?: Readonly<Record<string, string>>
  /** Registers the servers of the home. By default only the files of the agents exist. */
  readonly register?: boolean
  /** Called before the service starts. */
  readonly prepare?: (home: string) => void
}

/** The built service with the home `F`. */
export async function openDashboard({ env = {}, register = false, prepare }: Options = {}) {
  const home = ownFolder()
  const dashboard = await writeDashboardHome(home)
  prepare?.(home)
  const service = await openService({ home, env })
  const loginCode = async (): Promise<string> => (await service.ask('POST', '/login-codes')).body.code
  if (register) {
    for (const definition of dashboard.stdio) await service.add(definition)
    for (const definition of dashboard.http)
      expect((await service.ask('POST', '/http-servers', definition)).status).toBe(201)
  }
  return {
    ...service,
    ...dashboard,
    loginCode,
    /** Opens a page of the dashboard as `toolroom open` does: with a code, which is exchanged for the token. */
    signIn: async (page: Page, path = '/') => {
      await page.goto(`${service.address}${path}#c=${await loginCode()}`)
      await untilLive(page)
    },
    /** Opens a page without a token. */
    visit: async (page: Page, path = '/') => {
      await page.goto(`${service.address}${path}`)
      await untilLive(page)
    },
    end: async () => {
      service.child.kill('SIGTERM')
      await service.ended
    },
    /** At the same address, with the same data. */
    startAgain: () => openService({ home, env: { ...env, PORT: new URL(service.address).port } }),
    /** Calls a tool over the API, as the Playground does. */
    call: (server: string, tool: string, args: object = {}) =>
      service.ask('POST', `/servers/${server}/tools/${tool}/call`, { arguments: args }),
  }
}
/** One service for the tests of a `describe` block that do not disturb each other. */
export const sharedDashboard = (options: Options = {}) => sharedByTests(() => openDashboard(options))
export type Dashboard = Awaited<ReturnType<typeof openDashboard>>

/** Goes to another page as a link does, without a load. What was shown before is gone at once. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, '', to), path)
}

/** The page is drawn and the live stream is open. */
export async function untilLive(page: Page): Promise<void> {
  await page.getByRole('status').filter({ hasText: 'live' }).waitFor()
}
