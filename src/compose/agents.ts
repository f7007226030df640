import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Agents, createAgents } from '../agents/agents.service.ts'
import type { Definition, RegisteredServer } from '../agents/catalogue/definition.ts'
import type { Platform } from '../agents/catalogue/platform.ts'
import type { OwnershipStore } from '../agents/edit/ownership.ts'
import { Backups } from '../agents/files/backups.ts'
import type { Keys } from '../gateway/keys/keys.service.ts'
import type { HttpServer } from '../http-servers/http-servers.schema.ts'
import type { HttpServers } from '../http-servers/http-servers.service.ts'
import { AppError } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import { type ProgramOf, programFor } from '../servers/run-settings.ts'
import type { Server } from '../servers/servers.schema.ts'
import type { Servers } from '../servers/servers.service.ts'

interface Parts {
  readonly folder: string
  readonly platform: Pick<Platform, 'home' | 'env'> & { readonly os: string }
  readonly facts: FactBus
  readonly log: Log
  readonly ownership: OwnershipStore
  readonly servers: Pick<Servers, 'list' | 'add'>
  readonly httpServers: Pick<HttpServers, 'list' | 'add'>
  readonly programOf: ProgramOf
  readonly keys: Keys
  /** Where the service is reached, once it is. */
  readonly address: () => string
  /** Of the program that runs; of the build beside the sources where these run by themselves, as in tests. */
  readonly mainFile?: string | undefined
}

const BUILT = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** The agents' room, with the registered servers behind its back. */
export function openAgents({
  folder,
  platform,
  facts,
  log,
  ownership,
  servers,
  httpServers,
  programOf,
  keys,
  address,
  mainFile = BUILT,
}: Parts): Agents {
  return createAgents({
    platform: thisComputer(platform),
    facts,
    ownership,
    backups: new Backups(folder),
    lockLedger: join(folder, 'agent-locks'),
    gateway: {
      // Agents on this computer reach who listens everywhere at home.
      address: () => address().replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, '//127.0.0.1'),
      program: { command: process.execPath, mainFile },
      make: (agent_type, name, by) => keys.add({ agent_type, name }, by),
      remove: keys.remove,
      idsOf: (agentType, name) =>
        keys
          .list()
          .filter((key) => key.agent_type === agentType && key.name === name)
          .map(({ id }) => id),
    },
    now: Date.now,
    registered: async () => [
      ...(await servers.list()).map((server) => stdioServer(server, programOf)),
      ...(await httpServers.list()).map(httpServer),
    ],
    register: (name, definition, by) =>
      definition.type === 'stdio'
        ? servers.add({ ...definition, name, args: [...definition.args] }, by)
        : httpServers.add({ name, ...remote(definition) }, by),
    onTrouble: (sentence, error) => log.warn({ error }, sentence),
  })
}

/** The entry of an agent names the file of a package's program. Without the program there is no entry. */
function stdioServer(server: Server, programOf: ProgramOf): RegisteredServer {
  const { id, name, env, cwd } = server
  const program = programFor(server, programOf)
  if (program.ok) {
    const { command, args } = program
    return { id, name, definition: { type: 'stdio', command, args, env, cwd } }
  }
  const { message, hint } = program.error
  const error = new AppError('package_not_found', `'${name}': ${message}`, hint === null ? {} : { hint })
  return { id, name, definition: error }
}

const httpServer = ({ id, name, url, transport, headers }: HttpServer): RegisteredServer => ({
  id,
  name,
  definition: { type: transport === 'sse' ? 'sse' : 'http', url, headers },
})

const remote = ({ type, url, headers }: Exclude<Definition, { type: 'stdio' }>) => ({
  url,
  headers,
  transport: type === 'sse' ? ('sse' as const) : ('auto' as const),
})

/** Agents' files are found from the user's home as the operating system reports it. */
function thisComputer({ os, home, env }: Parts['platform']): Platform {
  return {
    os: os === 'darwin' || os === 'win32' ? os : 'linux',
    home,
    env,
    exists: existsSync,
    list: (folder) => {
      try {
        return readdirSync(folder)
      } catch {
        return []
      }
    },
  }
}
