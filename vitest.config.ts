import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest files first, so that no worker is left with one of them at the end. */
const FIRST = ['/test/goals/', '/test/e2e/', '/test/', '/scripts/']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification) => {
      const at = FIRST.findIndex((folder) => moduleId.includes(folder))
      return at < 0 ? FIRST.length : at
    }
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A test that waits for something fails when it does not happen, not when the machine is slow.
    expect: { poll: { timeout: 60_000, interval: 20 } },
    pool: 'forks',
    maxWorkers: 3, // on two cores: many tests wait for a timer, a disk or a process most of the time
    sequence: { sequencer: LongestFirst },
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    // One process for many files: loading the whole service takes longer than most of these tests. No test may leave a
    // global change behind; each service has its own folder and closes at the end of its test.
    isolate: false,
  },
})
