import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Long files that mostly wait for timers, disks and processes, and long files that mostly compute. */
const WAITING = ['/test/goals/', '/test/e2e/']
const COMPUTING = ['/test/', '/scripts/']

/**
 * The longest files first, so that no worker is left with one of them at the end; and those that wait beside those that
 * compute, so that the processor is in use all the time.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isIn = (folders: string[]) => (file: TestSpecification) =>
      folders.some((folder) => file.moduleId.includes(folder))
    const waiting = sorted.filter(isIn(WAITING))
    const computing = sorted.filter((file) => isIn(COMPUTING)(file) && !waiting.includes(file))
    const long = waiting.flatMap((file, n) => [file, ...computing.slice(n, n + 1)])
    return [...new Set([...long, ...computing, ...sorted])]
  }
}

export default defineConfig({
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A test that waits for something fails when it does not happen, not when the machine is slow.
    expect: { poll: { timeout: 60_000, interval: 20 } },
    pool: 'forks',
    maxWorkers: 4, // on two cores: many tests wait for a timer, a disk or a process most of the time
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/support/environment.ts'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    // One process for many files: loading the whole service takes longer than most of these tests. No test may leave a
    // global change behind; each service has its own folder and closes at the end of its test.
    isolate: false,
  },
})
