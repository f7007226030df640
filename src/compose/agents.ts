import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Agents } from '../agents/agents.service.ts'
import type { Platform } from '../agents/catalogue/agent-catalogue.ts'
import type { RegisteredServer } from '../agents/catalogue/server-definition.ts'
import { Backups } from '../agents/files/file-backups.ts'
import { importEntry } from '../import/read/agent-file/import-agent-entry.ts'
import type { Config } from '../kernel/config/config.ts'
import { lastingProgram, removeUnusedCopies } from '../kernel/config/npx-program-copy.ts'
import { serviceFile } from '../kernel/config/paths.ts'
import { forgetStart, recordStart } from '../kernel/config/recorded-start.ts'
import { AppError } from '../kernel/errors.ts'
import type { HttpServer } from '../servers/http/http-servers.schema.ts'
import type { HttpServers } from '../servers/http/http-servers.service.ts'
import { held, notAllowed } from '../servers/shared/definition/outgoing.ts'
import { type ProgramOf, programFor } from '../servers/stdio/run-settings.ts'
import type { Server } from '../servers/stdio/servers.schema.ts'
import type { Servers } from '../servers/stdio/servers.service.ts'
import { openOwnership } from '../store/managed-entries.store.ts'
import type { Basics } from './basics.ts'
import type { GatewayAndServers } from './gateway-and-servers.ts'

/** The agents, connected to the registered servers and to the gateway. */
export async function openAgents(
  basics: Basics,
  { address, gateway }: GatewayAndServers,
  registered: () => Promise<RegisteredServer[]>,
): Promise<Agents> {
  const { config, mainFile, folder, facts, log, database, vault, namedSecrets, references } = basics
  const around = {
    home: config.platform.home,
    isOwnSetting: (name: string) => references.isOwnSetting(name),
  }
  const { keys, keyStore, offers, view } = gateway
  const ownership = await openOwnership(database, vault, keyStore)
  const written = [...ownership.all().map(({ path }) => path), serviceFile(config.platform, folder)]
  removeUnusedCopies(folder, mainFile, written).catch((error) =>
    log.warn({ error }, 'unused copies of Toolroom could not be removed'),
  )
  return new Agents({
    platform: platformOf(config.platform),
    facts,
    ownership,
    backups: new Backups(folder),
    lockLedger: join(folder, 'agent-locks'),
    gateway: {
      // A service that listens on all interfaces is reached by agents at the loopback address.
      address: () => address.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, '//127.0.0.1'),
      data: folder,
      program: { command: process.execPath, ...lastingProgram(mainFile, folder) },
      draft: (agent_type, name, by) => keys.draft({ agent_type, name }, by),
      removalOf: keys.removalOf,
      idOf: keys.idOf,
      idsOf: (agentType, name) =>
        keys
          .list()
          .filter((key) => key.agent_type === agentType && key.name === name)
          .map(({ id }) => id),
    },
    start: { record: () => recordStart(config, mainFile), forget: () => forgetStart(folder) },
    now: Date.now,
    offers,
    secretOf: (name) => namedSecrets.current(name)?.value,
    isSet: ({ kind, name }) =>
      kind === 'secret' ? namedSecrets.current(name) !== undefined : config.platform.env[name] !== undefined,
    asImported: (entry, file) => {
      const { definition, problem, lost } = importEntry(entry, file, around)
      return problem === null && lost.length === 0 ? definition : null
    },
    view,
    registered,
    onTrouble: (sentence, error) => log.warn({ error }, sentence),
  })
}

/** The registered servers, as entries of agents name them. */
export async function registeredServers(
  servers: Pick<Servers, 'list'>,
  httpServers: Pick<HttpServers, 'list'>,
  programOf: ProgramOf,
): Promise<RegisteredServer[]> {
  return [
    ...(await servers.list()).map((server) => stdioServer(server, programOf)),
    ...(await httpServers.list()).map(httpServer),
  ]
}

/** Agents cannot resolve Toolroom's packages, so their entry has the file of the program. */
function stdioServer(server: Server, programOf: ProgramOf): RegisteredServer {
  const { id, name, env, cwd, isolation } = server
  const program = programFor(server, programOf)
  if (program.ok) {
    const { command, args } = program
    const from = server.package === null ? undefined : { name: server.package, args: server.args }
    return {
      id,
      name,
      definition: { type: 'stdio', command, args, env, cwd },
      ...(isolation !== 'none' && { isIsolated: true }),
      ...heldOf(server),
      ...(from && { package: from }),
    }
  }
  const { message, hint } = program.error
  const error = new AppError('package_not_found', `'${name}': ${message}`, hint === null ? {} : { hint })
  return { id, name, definition: error }
}

function httpServer(server: HttpServer): RegisteredServer {
  const { id, name, url, transport, headers } = server
  const type = transport === 'sse' ? 'sse' : 'http'
  return { id, name, definition: { type, url, headers }, ...heldOf(server) }
}

function heldOf(server: Server | HttpServer): Pick<RegisteredServer, 'held'> {
  const { error } = notAllowed(server)
  return error ? { held: held(server, error) } : {}
}

/** Agents' files are searched in the home folder that the operating system reports. */
function platformOf({ os, home, env }: Config['platform']): Platform {
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
