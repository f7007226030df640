import { existsSync } from 'node:fs'
import { writeDurably } from '../../kernel/files/durable-file.ts'
import { allServers, isStdio } from '../run/any-server.ts'
import type { Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { toolsOf } from '../tools/tools.ts'
import { cacheFile, type Names } from './candidates.ts'

/** Asks the service for everything that can be named, and stores it for the next completion. */
export const refreshNames: Run = async ({ api, config }) => {
  const servers = await allServers(api)
  const [agents, packages, presets, secrets, settings] = await Promise.all([
    api.get('/api/agents'),
    api.get('/api/packages'),
    orNone(api.get('/api/presets')),
    orNone(api.get('/api/secrets')),
    orNone(api.get('/api/settings')),
  ])
  const names: Names = {
    lists: {
      server: servers.map(({ id }) => id),
      'http-server': servers.flatMap((server) => (isStdio(server) ? [] : [server.id])),
      agent: agents.items.map(({ agent_type }) => agent_type),
      package: packages.items.map(({ name }) => name),
      preset: presets.map(({ name }) => name),
      secret: secrets.map(({ name }) => name),
      setting: settings.map(({ key }) => key),
    },
    tools: Object.fromEntries(
      await Promise.all(
        servers.map(async (server) => {
          const tools = await orNone(toolsOf(api, server).then((items) => ({ items })))
          return [server.id, tools.map(({ name }) => name)]
        }),
      ),
    ),
  }
  const { data } = config.folders
  if (existsSync(data)) writeDurably(cacheFile(data), JSON.stringify(names), 0o600)
  return undefined
}

/** Without the token, some lists are refused; a server that has never run has no tools. */
async function orNone<T>(list: Promise<{ readonly items: readonly T[] }>): Promise<readonly T[]> {
  try {
    return (await list).items
  } catch (error) {
    if (error instanceof Failure) return []
    throw error
  }
}
