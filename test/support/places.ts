import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { trialArgs } from '../../src/supervisor/places/sandbox/sandbox-arguments.ts'
import { canRun, NODE_IMAGE, startEngine } from './engines.ts'
import { ownFolder } from './folder.ts'
import { onPath } from './on-path.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface PlaceOfTest {
  /** The fields of a server that runs there. */
  readonly fields: object
  /** Of Toolroom. */
  readonly env: Readonly<Record<string, string>>
}

const container = {
  isolation: 'container',
  isolation_options: { image: NODE_IMAGE, read: [root], memory_mb: 512 },
}
const engine = (name: 'docker' | 'podman') => ({
  name,
  isThere: canRun(name),
  open: async (): Promise<PlaceOfTest> => {
    const { socket } = await startEngine(name)
    return { fields: container, env: { DOCKER_HOST: `unix://${socket}` } }
  },
})

/** Every place in which a server can run. */
export const PLACES = [
  { name: 'none', isThere: true, open: async (): Promise<PlaceOfTest> => ({ fields: {}, env: {} }) },
  {
    name: 'sandbox',
    isThere: hasSandbox(),
    open: async (): Promise<PlaceOfTest> => ({ fields: { isolation: 'sandbox' }, env: {} }),
  },
  engine('docker'),
  engine('podman'),
] as const

/** A folder that a sandboxed server may change: if the test runs as root, servers are another user. */
export function givenToServers(folder: string): string {
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'nobody', folder])
  return folder
}

/** A folder with a bwrap to which the kernel refuses namespaces, for PATH. */
export function refusedNamespaces(): string {
  const folder = ownFolder()
  writeFileSync(join(folder, 'bwrap'), WITHOUT_NAMESPACES, { mode: 0o755 })
  return folder
}

/** A user namespace in which no further one may be created, and without rights. */
const WITHOUT_NAMESPACES = `#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec unshare --user --map-root-user sh -c '
  echo 0 > /proc/sys/user/max_user_namespaces
  exec setpriv --bounding-set=-all --inh-caps=-all --securebits=+noroot bwrap "$@"' sh "$@"
`

/** Runs a program where bubblewrap is not installed: Toolroom searches the usual folders, whatever PATH is. */
export function withoutBubblewrap(): readonly string[] {
  const bwrap = onPath('bwrap')
  return bwrap === undefined ? [] : [bwrap, '--dev-bind', '/', '/', '--ro-bind', '/dev/null', bwrap]
}

function hasSandbox(): boolean {
  const bwrap = onPath('bwrap')
  return bwrap !== undefined && spawnSync(bwrap, trialArgs(bwrap)).status === 0
}
