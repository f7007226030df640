import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Installed, PackageView } from '../../src/servers/packages/packages.schema.ts'
import { ownFolder } from './folder.ts'
import { atEnd } from './lifetime.ts'
import { type NPMS, pathWithNpm } from './npm-versions.ts'
import { openOutside } from './outside-registry.ts'
import { npmEnv } from './registry/npm-env.ts'
import { openRegistry } from './registry/registry.ts'
import { AUTHORISED, openTestService, type TestService } from './test-service.ts'

export { npmEnv } from './registry/npm-env.ts'

/** A service whose npm uses only a registry on loopback, with its own cache and settings. */
export async function houseWithRegistry(...given: Parameters<typeof openRegistry>) {
  const registry = await openRegistry(...given)
  atEnd(() => registry.close())
  const home = ownFolder()
  const service = await openTestService({ home, env: npmEnv(home, registry.url) })
  return { registry, service, home }
}

/** The same with this version of npm, and with everything outside of the registry that a dependency can name. */
export async function houseWithNpm(version: (typeof NPMS)[number]) {
  const registry = await openRegistry([])
  atEnd(() => registry.close())
  const home = ownFolder()
  const outside = await openOutside(home)
  const env = { ...npmEnv(home, registry.url), ...outside.env, PATH: pathWithNpm(version) }
  const service = await openTestService({ home, env })
  return { registry, service, home, outside }
}

export async function packages<T = Installed>(
  service: TestService,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  payload?: object,
) {
  const reply = await service.inject({
    method,
    url: `/api/packages${path}`,
    headers: AUTHORISED,
    ...(payload && { payload }),
  })
  return { status: reply.statusCode, body: (reply.body === '' ? undefined : reply.json()) as T }
}

export async function install(service: TestService, payload: object): Promise<Installed> {
  const { status, body } = await packages(service, 'POST', '/install-npm', payload)
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}

export const installed = async (service: TestService): Promise<PackageView[]> =>
  (await packages<{ items: PackageView[] }>(service, 'GET', '')).body.items

/** Everything in the packages folder except empty staging folders. */
export function packageFolders(data: string): string[] {
  const root = join(data, 'packages')
  if (!existsSync(root)) return []
  return readdirSync(root)
    .filter((name) => name !== '.staging' || readdirSync(join(root, name)).length > 0)
    .sort()
}
