import type { Confinement, IsolationOptions, Refusal } from '../../data/server/isolation.ts'
import { t } from './messages.ts'

const SHOWN = 2

/** Where it runs and what is open there: `Sandbox · writes ~/notes · no network`. Empty for a server without isolation. */
export function isolationText({ isolation, isolation_options: options }: Confinement): string {
  if (isolation === 'none') return ''
  const { image, write, read, network } = options
  const facts = [
    isolation === 'container' && image !== null ? t('inImage', { image }) : t(isolation),
    ...(write.length > 0 ? [t('writes', { paths: listed(write) })] : []),
    ...(read.length > 0 ? [t('reads', { paths: listed(read) })] : []),
    network === 'full' ? t('hasNetwork') : t('noNetwork'),
  ]
  return facts.join(' · ')
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, SHOWN).join(', ')
  return paths.length <= SHOWN ? shown : t('more', { paths: shown, count: paths.length - SHOWN })
}

/** The lines that are no path, which the service would refuse. */
export const notPaths = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => !/^(?:\/|~\/)./.test(path))

/** Whether the isolation grants what was refused. `path` begins with `~/` in the home. */
export function isOpen({ write, read, network }: IsolationOptions, { kind, path }: Refusal): boolean {
  if (kind === 'network') return network === 'full'
  if (path === null) return false
  return write.includes(path) || (kind === 'read' && read.includes(path))
}

/** The same isolation with a grant for what was refused, or without it. */
export function withGrant(
  options: IsolationOptions,
  { kind, path }: Refusal,
  open: boolean,
): IsolationOptions {
  if (kind === 'network') return { ...options, network: open ? 'full' : 'none' }
  if (path === null) return options
  const without = (paths: readonly string[]) => paths.filter((each) => each !== path)
  const closed = { ...options, write: without(options.write), read: without(options.read) }
  return open ? { ...closed, [kind]: [...closed[kind], path] } : closed
}

/** A command such as `docker run -i mcp/time` has its image among the arguments. */
export const namesImage = (command: unknown, args: unknown): boolean =>
  typeof command === 'string' &&
  /(?:^|[\\/])(?:docker|podman)(?:\.exe)?$/.test(command) &&
  Array.isArray(args) &&
  args.includes('run')
