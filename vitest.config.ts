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
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A test that waits for something fails when it does not happen, not when the machine is slow.
    expect: { poll: { timeout: 30_000, interval: 20 } },
    pool: 'forks',
    maxWorkers: 3, // on two cores: many tests wait for a timer, a disk or a process most of the time
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'service', include: ['test/**/*.test.ts', 'scripts/**/*.test.ts'] },
      },
      {
        extends: true,
        // One process for many files: loading the whole service takes longer than most of these tests. No test may leave
        // a global change behind; each service has its own folder and closes at the end of its test.
        test: { name: 'rooms', include: ['src/**/*.test.ts'], isolate: false },
      },
    ],
  },
})
