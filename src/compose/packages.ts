import { AppError } from '../kernel/errors.ts'
import { readForeign } from '../kernel/files/foreign-file.ts'
import { redactText } from '../kernel/secrets/known-secrets.ts'
import { Jobs } from '../servers/jobs/jobs.ts'
import { npmEnvironment } from '../servers/packages/npm-install.ts'
import { type Npm, npmVersions } from '../servers/packages/npm-version.ts'
import type { PackageFolders } from '../servers/packages/package-folders.ts'
import type { PackageStore } from '../servers/packages/package-record.ts'
import { Packages } from '../servers/packages/packages.service.ts'
import { Registry } from '../servers/packages/registry/npm-registry.ts'
import { type NpmSettings, npmSettings } from '../servers/packages/registry/npm-settings.ts'
import { hashOf } from '../servers/shared/compare-listed-definitions.ts'
import { isHeld } from '../servers/shared/definition/outgoing.ts'
import { addUnderFreeName } from '../servers/shared/definition/server-name.ts'
import type { Servers } from '../servers/stdio/servers.service.ts'
import type { Basics } from './basics.ts'
import type { Runtime } from './stdio-runtime.ts'

interface Parts {
  readonly store: PackageStore
  readonly folders: PackageFolders
  readonly engine: Pick<Runtime, 'run' | 'tryOut'>
  readonly servers: Servers
}
type Environment = Readonly<Record<string, string | undefined>>

const AT_ONCE = 2
const TRIAL_MS = 30_000
const SETTINGS_MS = 30_000
/** Of an .npmrc, or of a file with certificates. */
const MAX_NPMRC_BYTES = 4 * 1024 * 1024
const START_WAIT_S = 30

/** The packages, connected to npm, the registries and the servers. */
export function openPackages(
  { config, running, facts, secrets, references }: Basics,
  { store, folders, engine, servers }: Parts,
): { packages: Packages; jobs: Jobs } {
  const { env } = config.platform
  const clean = (text: string) => redactText(text, secrets)
  const jobs = new Jobs({
    now: Date.now,
    atOnce: AT_ONCE,
    onProgress: ({ id, kind, subject, status, phase }, line) => {
      if (kind === 'server_try') return // the states of the servers are events themselves
      const progress = { job_id: id, status, phase, line }
      if (kind === 'image_pull') facts.publish('image_progress', { ...progress, image: subject })
      else facts.publish('package_progress', { ...progress, package: subject })
    },
  })
  /** Its output may contain secrets, and is read only by Toolroom. */
  const rawNpm: Npm = async (run) => engine.run({ ...run, command: 'npm', env: npmEnvironment(env) })
  const npm: Npm = ({ onLine, ...run }) =>
    rawNpm({ ...run, ...(onLine && { onLine: (stream, text) => onLine(stream, clean(text)) }) })
  const settings = cached(() => readSettings(rawNpm, env))
  const packages = new Packages({
    store,
    folders,
    registry: new Registry({ settings, now: Date.now }),
    npm,
    npmVersions: cached(() => npmVersions(rawNpm)),
    jobs,
    now: Date.now,
    node: process.versions.node,
    minAgeDays: () => running.get('min_release_age_days'),
    mcpRegistry: () => running.get('mcp_registry_url'),
    network: async () => (await settings()).network,
    trial: async (definition) => {
      const outcome = await engine.tryOut(definition, TRIAL_MS)
      if (outcome.ok)
        return outcome.found.tools.map((tool) => ({ name: String(tool.name), hash: hashOf(tool) }))
      const { message, hint } = outcome.error
      throw new AppError('server_start_failed', message, { ...(hint !== null && { hint }) })
    },
    serversOf: async (name) =>
      (await servers.ofPackage(name)).map((server) => {
        const resolved = references.resolve(server.id, server)
        const { id, command, args, env, cwd, ...rest } = resolved.ok ? resolved.definition : server
        const { isolation, isolation_options } = rest
        const isOff = isHeld(server)
        return { id, program: command, args, env, cwd, isOff, confinement: { isolation, isolation_options } }
      }),
    npxServersOf: async (name) => (await servers.startedWithNpx(name)).map(({ id }) => id),
    restartServers: (name) => servers.packageSwitched(name),
    createServer: async ({ name, ...input }, by) => {
      const { id } = await addUnderFreeName(name, (free) => servers.add({ name: free, ...input }, by))
      try {
        const { running } = await servers.start(id, START_WAIT_S, by)
        return { id, status: running ? 'running' : 'starting', error: null }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { id, status: 'failed', error: error.message }
      }
    },
  })
  return { packages, jobs }
}

/** `npm config` lists the registries, the .npmrc files contain the logins. */
async function readSettings(npm: Npm, env: Environment): Promise<NpmSettings> {
  let json = ''
  const { code } = await npm({
    args: ['config', 'list', '--json'],
    timeoutMs: 20_000,
    onLine: (stream, text) => {
      if (stream === 'stdout') json += `${text}\n`
    },
  })
  if (code !== 0) throw new AppError('install_failed', 'npm config list failed, so the registry is unknown')
  const { userconfig, globalconfig, cafile } = JSON.parse(json) as Record<string, unknown>
  return npmSettings(json, [textOf(globalconfig), textOf(userconfig)], env, textOf(cafile))
}

function textOf(path: unknown): string {
  try {
    return typeof path === 'string' ? readForeign(path, MAX_NPMRC_BYTES).bytes.toString('utf8') : ''
  } catch {
    return '' // the file is optional
  }
}

/** A run of npm takes a quarter of a second, and a search is often repeated. */
function cached<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly value: Promise<T>; readonly at: number } | undefined
  return () => {
    if (last && performance.now() - last.at < SETTINGS_MS) return last.value
    const value = read()
    last = { value, at: performance.now() }
    value.catch(() => {
      last = undefined
    })
    return value
  }
}
