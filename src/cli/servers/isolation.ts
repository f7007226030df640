import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { StdioServer } from '../run/any-server.ts'
import type { Given } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { shortPath } from '../run/human-readable.ts'
import type { Schemas } from '../run/service-client.ts'
import { ISOLATION_FLAGS } from './isolation-flags.ts'

export type Confinement = Pick<StdioServer, 'isolation' | 'isolation_options'>
type Options = Confinement['isolation_options']
type GivenIsolation = Pick<Schemas['ServerPatch'], 'isolation' | 'isolation_options'>

/** The isolation that the flags ask for. Paths are added to those of the server, which has none if it is new. */
export function isolationGiven(
  given: Given,
  before: Pick<Options, 'write' | 'read'> = { write: [], read: [] },
): GivenIsolation {
  const memory_mb = wholeNumber(given, 'memory')
  const pids = wholeNumber(given, 'pids')
  const options = {
    ...pathsGiven(given, before),
    ...(given.flags('network', 'image') as Partial<Pick<Options, 'network'> & { image: string }>),
    ...(memory_mb !== undefined && { memory_mb }),
    ...(pids !== undefined && { pids }),
  }
  return {
    ...(given.flags('isolation') as Partial<Pick<Confinement, 'isolation'>>),
    ...(Object.keys(options).length > 0 && { isolation_options: options }),
  }
}

/** The first of these flags that was given. */
export const isolationFlag = (given: Given): string | undefined =>
  [...Object.keys(ISOLATION_FLAGS), 'close'].find((flag) => given.all(flag).length > 0)

/** A path is in one list: `--read` for one that it may change makes it read-only. */
function pathsGiven(given: Given, before: Pick<Options, 'write' | 'read'>): Partial<Options> {
  const [write, read, closed] = ['write', 'read', 'close'].map((flag) =>
    given.all(flag).map(grantedPath),
  ) as [string[], string[], string[]]
  if (write.length + read.length + closed.length === 0) return {}
  const had = { write: before.write.map(grantedPath), read: before.read.map(grantedPath) }
  const stranger = closed.find((path) => !had.write.includes(path) && !had.read.includes(path))
  if (stranger !== undefined)
    throw usage(`It may neither change nor read ${stranger}, so there is nothing to close`, null)
  const list = (own: readonly string[], added: readonly string[], moved: readonly string[]) => [
    ...new Set([...own.filter((path) => !moved.includes(path) && !closed.includes(path)), ...added]),
  ]
  return {
    write: list(had.write, write, read),
    read: list(
      had.read,
      read.filter((path) => !write.includes(path)),
      write,
    ),
  }
}

/** Absolute, and with `~/` in the home: the shell may have replaced that. */
function grantedPath(text: string): string {
  return shortPath(text.startsWith('~/') ? join(homedir(), text.slice(2)).replace(/\/$/, '') : resolve(text))
}

function wholeNumber(given: Given, flag: string): number | undefined {
  const text = given.flag(flag)
  if (text === undefined) return undefined
  if (!/^\d{1,7}$/.test(text)) throw usage(`--${flag} must be a whole number, not '${text}'`, null)
  return Number(text)
}

/** `in a sandbox: may change ~/notes, no network` */
export function isolationText({ isolation, isolation_options }: Confinement): string {
  const { write, read, network, image, memory_mb, pids } = isolation_options
  if (isolation === 'none') return `${placeText('none')}, with all your rights`
  return `${placeText(isolation, image)}: ${[
    ...(write.length > 0 ? [`may change ${write.join(', ')}`] : []),
    ...(read.length > 0 ? [`may read ${read.join(', ')}`] : []),
    network === 'full' ? 'all of the network' : 'no network',
    ...(isolation === 'container' ? [`at most ${memory_mb} MiB and ${pids} processes`] : []),
  ].join(', ')}`
}

/** `in a sandbox`, `in a container of node:22`, `without isolation` */
export function placeText(isolation: Confinement['isolation'], image: string | null = null): string {
  if (isolation === 'none') return 'without isolation'
  return isolation === 'container' && image !== null ? `in a container of ${image}` : `in a ${isolation}`
}

/** The command that turns the first isolation into the second. Undefined if they are the same. */
export function editCommand(id: string, before: Confinement, after: Confinement): string | undefined {
  const [from, to] = [before.isolation_options, after.isolation_options]
  const all = [...to.write, ...to.read]
  const flags = [
    ...(before.isolation === after.isolation ? [] : [`--isolation ${after.isolation}`]),
    ...to.write.filter((path) => !from.write.includes(path)).map((path) => `--write ${shellPath(path)}`),
    ...to.read.filter((path) => !from.read.includes(path)).map((path) => `--read ${shellPath(path)}`),
    ...[...from.write, ...from.read]
      .filter((path) => !all.includes(path))
      .map((path) => `--close ${shellPath(path)}`),
    ...(from.network === to.network ? [] : [`--network ${to.network}`]),
    ...(from.image === to.image || to.image === null ? [] : [`--image ${to.image}`]),
    ...(from.memory_mb === to.memory_mb ? [] : [`--memory ${to.memory_mb}`]),
    ...(from.pids === to.pids ? [] : [`--pids ${to.pids}`]),
  ]
  return flags.length === 0 ? undefined : ['toolroom edit', id, ...flags].join(' ')
}

/** For a shell, which replaces `~/` only outside of quotes. */
function shellPath(path: string): string {
  const [, home = '', rest = ''] = /^(~\/)?(.*)$/s.exec(path) ?? []
  return home + (/^[\w@%+=:,./-]+$/.test(rest) ? rest : `'${rest.replaceAll("'", "'\\''")}'`)
}
