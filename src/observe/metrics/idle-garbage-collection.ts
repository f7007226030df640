import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A collection pauses the process for about 30 ms, so it must be worth it. */
const WORTH_BYTES = 8 * 1024 * 1024

/**
 * Collects the garbage of a start or of many calls while the process is idle. V8 collects when it allocates, so an idle
 * process may keep that memory: about 15 MiB after a start and 200 calls.
 */
export class IdleGarbageCollection {
  #usedAfter = 0

  /** Call it while the process is idle. Returns whether there was enough garbage to collect it. */
  tidy(): boolean {
    if (usedBytes() - this.#usedAfter < WORTH_BYTES) return false
    collectGarbage()
    this.#usedAfter = usedBytes()
    return true
  }
}

const usedBytes = (): number => getHeapStatistics().used_heap_size

/** V8 offers the function to contexts that are created while the flag is set. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  collect()
}
