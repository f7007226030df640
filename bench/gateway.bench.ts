import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as measures from './gateway/measures.ts'
import { Opened, openScene } from './gateway/scene.ts'
import { rowsOf } from './gateway/table.ts'
import { untilQuiet } from './subjects.ts'

const FULL: measures.Size = { rounds: 7, share: 1 }
const QUICK: measures.Size = { rounds: 3, share: 0.15 }

/**
 * What agents pay for the gateway: the built service with all that is on by default, beside the least that anybody must
 * pay. Each figure is a ratio inside its round. The calls come from another process, over raw sockets.
 */
export async function run({ isQuick = false }: { isQuick?: boolean } = {}) {
  const size = isQuick ? QUICK : FULL
  const home = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  for (const name of ['toolroom', 'everything', 'library', 'launch']) mkdirSync(join(home, name))
  const opened = new Opened()
  try {
    const scene = await openScene(home, opened)
    await measures.warm(scene)
    if (!isQuick) await untilQuiet()
    const found = {
      oneByOne: await measures.oneByOne(scene, size),
      atOnce: await measures.atOnce(scene, size),
      large: await measures.large(scene, size),
      largeResults: await measures.largeResults(scene, size),
      visits: await measures.visits(scene, size),
      frozen: await measures.frozen(scene, size),
      library: await measures.library(scene, size, home),
      everything: await measures.everything(scene, size, home),
      launches: await measures.launches(scene, size, home),
    }
    const where = scene.isPlaced ? 'subjects on a core of their own' : 'not pinned: there is no taskset'
    const title = `The gateway, ratios (medians of ${size.rounds} rounds, ${where}${isQuick ? ', quick' : ''})`
    return { title, rows: rowsOf(found), measured: found }
  } finally {
    await opened.close()
    rmSync(home, { recursive: true, force: true })
  }
}
