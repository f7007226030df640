import type { ChildProcess } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

const PRELOAD = fileURLToPath(new URL('collect-on-signal.cjs', import.meta.url))
const PATIENCE_MS = 60_000

/** The environment of a service whose memory `heldMemory` can read. */
export const MEASURED = { NODE_OPTIONS: `--require=${PRELOAD}` }

/** The same for one that also counts the steps of its event loop. */
export const STEPS_MEASURED = { ...MEASURED, COUNT_STEPS: '1' }

interface Held {
  /** Memory of the process. */
  readonly residentMb: number
  /** Objects and buffers that are in use. */
  readonly heldMb: number
  /** CPU time of its main thread so far. */
  readonly workMs: number
  /** CPU time of the longest turn of its event loop since the last time. */
  readonly longestStepMs: number
}

interface Report extends NodeJS.MemoryUsage {
  readonly workMs?: number
  readonly longestStepMs?: number
}

/** The memory of a service right after a garbage collection, so that it does not depend on when V8 collects. */
export async function heldMemory({ child, home }: { child: ChildProcess; home: string }): Promise<Held> {
  const file = join(home, 'memory.json')
  rmSync(file, { force: true })
  child.kill('SIGUSR2')
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(20)) {
    const memory = read(file)
    if (!memory) continue
    const { rss, heapUsed, external, workMs = Number.NaN, longestStepMs = Number.NaN } = memory
    return { residentMb: mb(rss), heldMb: mb(heapUsed + external), workMs, longestStepMs }
  }
  return expect.unreachable('the service did not report its memory')
}

const mb = (bytes: number): number => bytes / 1_048_576

function read(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined // not written yet
  }
}
