import type { Launch } from '../platform.ts'
import { environmentOf } from '../spawning.ts'
import { INHERITED, merged } from './variables.ts'

/** Never detached: each grandchild would open a console window of its own. */
export function spawnOptions({ cwd, env, mark, verbatim = false }: Launch) {
  return {
    cwd,
    env: merged(environmentOf({ env, mark }, INHERITED), { PATH: env.PATH }),
    shell: false,
    stdio: ['pipe', 'pipe', 'pipe'] as ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    windowsVerbatimArguments: verbatim,
  }
}
