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
 * What the gateway costs: the built service with its default settings, compared with minimal baseline programs. Each
 * figure is a ratio within one round. The calls come from another process, over raw sockets.
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
    const where = scene.isPlaced ? 'subjects pinned to their own core' : 'not pinned: taskset not found'
    const title = `The gateway, ratios (medians of ${size.rounds} rounds, ${where}${isQuick ? ', quick' : ''})`
    return { title, rows: rowsOf(found), measured: found }
  } finally {
    await opened.close()
    rmSync(home, { recursive: true, force: true })
  }
}
