import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { trialArgs } from '../../src/supervisor/places/sandbox/bubblewrap.ts'
import { canRun, NODE_IMAGE, startEngine } from './engines.ts'
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

function hasSandbox(): boolean {
  const bwrap = onPath('bwrap')
  return bwrap !== undefined && spawnSync(bwrap, trialArgs(bwrap)).status === 0
}
