import { isRecord } from './engine.ts'

/** A folder or file of this computer, or a volume, and where it appears in the container. */
export interface Bind {
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
  /**
   * A bind is in another one that the server may change: while one process of the server runs, it could put a link there that
   * the engine follows for the next one.
   */
  readonly isNested?: boolean
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
