import { existsSync } from 'node:fs'
import { type ContainerCommand, readContainerCommand } from '../../../kernel/containers/container-command.ts'
import type { Isolation, LastError } from '../../../kernel/server-state.ts'
import { isRecord } from './engine.ts'

/** A folder or file of this computer, or a volume, and where it appears in the container. */
interface Bind {
  readonly source: string
  readonly target: string
  readonly access: 'write' | 'read'
}

/** What runs in a container. */
export interface ContainerSpec {
  /** A name, or the id that it was pinned to. */
  readonly image: string
  /** In place of the entrypoint of the image. */
  readonly entrypoint?: readonly string[] | undefined
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly binds: readonly Bind[]
  readonly network: 'none' | 'full'
  readonly memory_mb: number
  readonly pids: number
  /** In place of the working folder of the image. */
  readonly cwd?: string | undefined
  /** `uid:gid`, in place of the user of the image. */
  readonly user?: string | undefined
}

export interface Labels {
  /** Which data folder it belongs to. */
  readonly installation: string
  /** Which run of Toolroom it belongs to. */
  readonly run: string
  readonly server: string
}

const INSTALLATION = 'dev.toolroom.installation'
const RUN = 'dev.toolroom.run'
const SERVER = 'dev.toolroom.server'

/** The containers of an installation, for the engine's list of containers. */
export const filterOf = (installation: string): string =>
  JSON.stringify({ label: [`${INSTALLATION}=${installation}`] })

/** Whether a container, as the engine lists it, was started by this run. */
export const isOfRun = (listed: Readonly<Record<string, unknown>>, run: string): boolean =>
  isRecord(listed.Labels) && listed.Labels[RUN] === run

/** The body of the engine's request to create a container: closed, and without a log of its own. */
export function createBody(
  spec: ContainerSpec,
  labels: Labels,
  { init } = { init: true },
): Record<string, unknown> {
  const memory = spec.memory_mb * 1024 * 1024
  return {
    Image: spec.image,
    ...(spec.entrypoint ? { Entrypoint: spec.entrypoint } : {}),
    ...(spec.cwd === undefined ? {} : { WorkingDir: spec.cwd }),
    ...(spec.user === undefined ? {} : { User: spec.user }),
    Cmd: spec.args,
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    Labels: { [INSTALLATION]: labels.installation, [RUN]: labels.run, [SERVER]: labels.server },
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    NetworkDisabled: spec.network === 'none',
    HostConfig: {
      Init: init,
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: spec.pids,
      NetworkMode: spec.network === 'none' ? 'none' : 'bridge',
      LogConfig: { Type: 'none', Config: {} }, // the default driver would write every answer to disk
      Tmpfs: { '/tmp': 'rw,nosuid,nodev' },
      Mounts: spec.binds.map(mountOf),
    },
  }
}

/** Not `Binds`, with which Docker creates a folder that does not exist. */
const mountOf = ({ source, target, access }: Bind) => ({
  Type: source.startsWith('/') ? 'bind' : 'volume',
  Source: source,
  Target: target,
  ReadOnly: access === 'read',
})

/** A server that runs in a container, with its references resolved. */
export interface Contained {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly options: Isolation['isolation_options']
}

type Specified =
  | { readonly ok: true; readonly spec: ContainerSpec }
  | { readonly ok: false; readonly error: LastError }

/**
 * The container of a server: what its `docker run` names, or its image, in which its command runs. The limits and the
 * network are those of `isolation_options`.
 */
export function specOf(contained: Contained, home: string): Specified {
  const { command, args, env, cwd, options } = contained
  const run = readContainerCommand(command, args)
  if (run?.ok === false) return notContained(`its command has ${run.cannot.join(', ')}`)
  const expand = (file: string) => (file === '~' || file.startsWith('~/') ? home + file.slice(1) : file)
  const named = [
    ...(run?.container.mounts ?? []),
    ...options.read.map((file) => samePath(expand(file), 'read')),
    ...options.write.map((file) => samePath(expand(file), 'write')),
  ].map((bind) => ({ ...bind, source: expand(bind.source) }))
  const binds = run || cwd === null ? named : withCwd(named, cwd)
  const missing = binds.find(({ source }) => source.startsWith('/') && !existsSync(source))
  if (missing) return pathNotFound(missing.source)
  const { network, memory_mb, pids } = options
  const limits = { network, memory_mb, pids, binds }
  if (run) return { ok: true, spec: { ...ofRun(run.container, env), ...limits } }
  if (options.image === null) return notContained('its isolation_options name no image')
  const own = { image: options.image, entrypoint: [command], args, env, cwd: cwd ?? undefined }
  return { ok: true, spec: { ...own, ...limits } }
}

function ofRun(run: ContainerCommand, env: Contained['env']) {
  const { image, args, entrypoint, cwd, user } = run
  const values = Object.entries(run.env).flatMap(([name, value]) => {
    const own = value ?? (Object.hasOwn(env, name) ? env[name] : undefined)
    return own === undefined ? [] : [[name, own] as const]
  })
  return {
    image,
    args,
    entrypoint: entrypoint === null ? undefined : [entrypoint],
    env: Object.fromEntries(values),
    cwd: cwd ?? undefined,
    user: user ?? undefined,
  }
}

const samePath = (path: string, access: Bind['access']): Bind => ({ source: path, target: path, access })

/** The working folder is readable, unless it is in a folder that is there already. */
function withCwd(binds: readonly Bind[], cwd: string): readonly Bind[] {
  const isThere = binds.some(({ target }) => cwd === target || cwd.startsWith(`${target}/`))
  return isThere ? binds : [...binds, samePath(cwd, 'read')]
}

const notContained = (why: string): Specified => ({
  ok: false,
  error: {
    code: 'container_failed',
    message: `The server was not started: its isolation is container, and ${why}`,
    hint: 'Change the server, or set isolation to none to run it without isolation',
  },
})

const pathNotFound = (file: string): Specified => ({
  ok: false,
  error: {
    code: 'path_not_found',
    message: `The server was not started: ${file}, which its container needs, does not exist`,
    hint: 'Create it, or remove it from the server',
  },
})
