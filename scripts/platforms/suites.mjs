/** What runs on each system. `system` is the one whose reasons to skip a test hold; the code of macOS runs on this machine. */
const SUITES = [
  {
    name: 'linux',
    title: 'the contract of a platform, with /proc',
    system: 'linux',
    files: [
      'src/supervisor/platform/linux',
      'src/supervisor/platform/unix',
      'src/supervisor/platform/find-program',
    ],
  },
  {
    name: 'darwin',
    title: 'the contract of a platform and the life of a server, with ps of this machine',
    system: 'linux',
    env: { TOOLROOM_TEST_SYSTEM: 'darwin' },
    files: [
      'src/supervisor/platform/darwin',
      'src/supervisor/supervisor.test.ts',
      'src/supervisor/runner-joining.test.ts',
      'src/supervisor/runner.test.ts',
    ],
  },
  {
    name: 'windows',
    title: 'processes and files under Wine',
    system: 'wine',
    onWindows: true,
    files: [
      'src/supervisor',
      'src/servers/orphans',
      'src/kernel',
      'src/kernel/config',
      'src/store',
      'src/agents',
      'src/servers/packages',
      'src/cli/service',
      'test/cli',
    ],
  },
  {
    name: 'windows-start',
    title: 'from a clone to a working service under Wine',
    system: 'wine',
    onWindows: true,
    isClone: true,
    files: ['test/platforms'],
  },
]

/** Those that the words name; all without words; none if a word is unknown. */
export function chosenSuites(words) {
  const isKnown = words.every((word) => SUITES.some(({ name }) => name === word))
  if (!isKnown) return []
  return words.length === 0 ? SUITES : SUITES.filter(({ name }) => words.includes(name))
}
