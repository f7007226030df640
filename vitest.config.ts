import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The tests of `test/` wait for timers, disks, processes and the browser half of their time; those in `src/` compute, apart
 * from those of processes. So that the processor is in use all the time, both kinds run side by side from the first minute to
 * the last, and a worker gets nothing long at the end.
 */
class WaitingBesideComputing extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isIn = (folder: string) => (file: TestSpecification) => file.moduleId.includes(folder)
    const waiting = [...sorted.filter(isIn('/src/supervisor/')), ...sorted.filter(isIn('/test/'))]
    const computing = sorted.filter((file) => !waiting.includes(file))
    const perFile = computing.length / waiting.length
    const beside = (n: number) => computing.slice(Math.ceil(n * perFile), Math.ceil((n + 1) * perFile))
    return waiting.length === 0 ? computing : waiting.flatMap((file, n) => [file, ...beside(n)])
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
    sequence: { sequencer: WaitingBesideComputing },
    setupFiles: ['test/support/environment.ts'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    // One process for many files: loading the whole service takes longer than most of these tests. No test may leave a
    // global change behind; each service has its own folder and closes at the end of its test.
    isolate: false,
  },
})
