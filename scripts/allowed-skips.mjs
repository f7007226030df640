// The tests that may be skipped, and why. `npm test` prints every skipped test; in CI any other skip is a failure.
import { spawnSync } from 'node:child_process'

const IN_TMUX =
  /^(?:top in|each key of top|the log in top|a question of a tool|on a terminal|the Tab key|the recording|.* in a terminal)/

/**
 * `inCi` is true where a new machine, on which CI runs as root, cannot run the test either. `package` is the one of Debian
 * without which the test is skipped.
 */
const ALLOWED = [
  {
    file: /^test\/goals\/(?:any-order|boot-storm|falls|flapping|gateway-catalogue|gateway-frozen|gateway-kill|orphans)\.test\.ts$/,
    systems: ['darwin', 'win32'],
    why: 'it counts or freezes processes with /proc and signals',
    inCi: true,
  },
  {
    file: /^test\/goals\/(?:hostile-streams|idle|many-lines|no-files-left|slow-clients|slow-listeners|soak)\.test\.ts$/,
    systems: ['darwin', 'win32'],
    why: 'it reads memory, processor time or open files from /proc',
    inCi: true,
  },
  {
    file: /^test\/(?:goals\/bad-input|measuring)\.test\.ts$/,
    name: /^(?:R7: .* make the process grow|limits on a busy machine)/,
    systems: ['darwin', 'win32'],
    why: 'it reads memory or the load from /proc',
    inCi: true,
  },
  {
    file: /^test\/goals\/(?:failing-disk|log-disk|power-loss)\.test\.ts$/,
    systems: ['darwin', 'win32'],
    why: 'it makes file operations of Linux fail, or counts them',
    inCi: true,
  },
  {
    file: /^(?:test\/goals\/(?:disk-full|packages-disk-full|agent-files-disk)|src\/store\/calls\/sqlite-call-store)\.test\.ts$/,
    systems: ['darwin', 'win32'],
    why: 'it mounts a small disk as Linux does',
    inCi: true,
  },
  {
    file: /^test\/goals\/hostile-packages\.test\.ts$/,
    name: /killed while npm runs/,
    systems: ['darwin', 'win32'],
    why: 'it looks for processes in /proc',
    inCi: true,
  },
  {
    file: /^test\/(?:web\/|goals\/clock|e2e\/(?:environment|start|oauth-browser|login-pages|swagger-ui|places|isolation))/,
    systems: ['darwin', 'win32'],
    why: 'it needs a shell, Chromium, faketime or bubblewrap, which npm test installs on Linux only',
    inCi: true,
  },
  {
    file: /^test\/cli\/(?:doctor|packages|tools|watch)\.test\.ts$/,
    name: /Ctrl-C|SIGINT|SIGTERM/,
    systems: ['win32'],
    why: 'Windows has no signals, and a test cannot press Ctrl-C there',
    inCi: true,
  },
  {
    file: /^test\/cli\/doctor\.test\.ts$/,
    name: /^doctor (?:names the server|says where servers can run)/,
    systems: ['win32'],
    why: 'Windows has no login shell, no modes of files and no sandbox',
    inCi: true,
  },
  {
    file: /^test\/cli\/isolation\.test\.ts$/,
    name: /^(?:where the system refuses a sandbox|a granted path)/,
    systems: ['win32'],
    why: 'Windows has no sandbox, and its paths cannot be granted',
    inCi: true,
  },
  {
    file: /^test\/cli\/data\.test\.ts$/,
    name: /^orphans lists a process/,
    systems: ['win32'],
    why: 'it starts the orphan with /bin/sh, which Windows does not have',
    inCi: true,
  },
  {
    file: /^test\/cli\/(?:top|tools|data|completion|recordings|first-run)\.test\.ts$/,
    name: IN_TMUX,
    systems: ['darwin', 'win32'],
    why: 'it needs tmux, which npm test installs on Linux only',
    inCi: true,
  },
  {
    file: /^test\/cli\/completion\.test\.ts$/,
    name: / in bash completes from the cache/,
    systems: ['win32'],
    why: 'Windows does not come with bash',
    inCi: true,
  },
  {
    file: /^test\/cli\/service\.test\.ts$/,
    name: /^(?:toolroom service |with --restart-after-crash)/,
    systems: ['darwin', 'win32'],
    why: 'it tests the unit of systemd, or reads /proc',
    inCi: true,
  },
  {
    file: /^test\/cli\/autostart\.test\.ts$/,
    name: /a plist parser reads|well-formed UTF-16/,
    systems: ['win32'],
    why: 'it needs python3, which has the parsers',
    inCi: true,
  },
  {
    file: /^test\/e2e\/(?:real-packages|real-servers|reboot)\.test\.ts$/,
    systems: ['darwin', 'win32'],
    why: 'it counts processes with /proc',
    inCi: true,
  },
  {
    file: /^test\/(?:e2e\/fidelity|fixtures\/servers|goals\/agent-files)\.test\.ts$/,
    systems: ['win32'],
    why: 'it ends process groups, or uses links and modes of files, which Windows does not have',
    inCi: true,
  },
  {
    file: /^src\/supervisor\/(?:process\/resources|orphans\/orphans)\.test\.ts$/,
    systems: ['darwin', 'win32'],
    why: 'it compares with /proc; the contract of each platform has the same tests without it',
    inCi: true,
  },
  {
    file: /^src\/supervisor\/platform\/(?:linux\/linux|unix\/process-tree|unix\/reaper)\.test\.ts$/,
    systems: ['darwin', 'win32'],
    why: 'it tests the code for Linux',
    inCi: true,
  },
  {
    file: /^src\/supervisor\/platform\/darwin\/(?:darwin|ps)\.test\.ts$/,
    systems: ['win32'],
    why: 'it tests the code for macOS, which needs ps and process groups',
    inCi: true,
  },
  {
    file: /^src\/supervisor\/platform\/unix\/unix-programs\.test\.ts$/,
    systems: ['win32'],
    why: 'it tests how programs are found on Linux and macOS',
    inCi: true,
  },
  {
    file: /^src\/servers\/orphans\/orphans\.test\.ts$/,
    name: /a real leaked process/,
    systems: ['darwin', 'win32'],
    why: 'it leaves a process behind as Linux does',
    inCi: true,
  },
  {
    file: /^src\/cli\/service\/status\.test\.ts$/,
    name: /its pid and its port are in use again/,
    systems: ['darwin', 'win32'],
    why: 'it reads /proc',
    inCi: true,
  },
  {
    file: /^src\/cli\/(?:service\/open|login\/login)\.test\.ts$/,
    name: /^(?:on a desktop toolroom open|the browser of a desktop)/,
    systems: ['darwin', 'win32'],
    why: 'xdg-open is a program of Linux',
    inCi: true,
  },
  {
    file: /^scripts\/(?:goals|leftovers)\.test\.ts$/,
    name: /^(?:a skipped test is printed|the script fails with the pid)/,
    systems: ['darwin', 'win32'],
    why: 'it needs /proc, or the reasons that hold on Linux',
    inCi: true,
  },
  {
    file: /^src\/agents\/files\/foreign-file\.test\.ts$/,
    name: /^(?:a FIFO |a foreign file that is a link)/,
    systems: ['win32'],
    why: 'Windows has no FIFO files and no /dev, and its links need rights that a user does not have',
    inCi: true,
  },
  {
    file: /^src\/kernel\/files\/foreign-file\.test\.ts$/,
    name: /^a file that has more than its size says/,
    systems: ['darwin', 'win32'],
    why: 'it reads a file of /proc',
    inCi: true,
  },
  {
    file: /^src\/agents\/agents\.test\.ts$/,
    name: /symbolic link|linked out of the home/,
    systems: ['win32'],
    why: 'this user may not create symbolic links, or Wine has none',
    inCi: true,
  },
  {
    file: /^src\/servers\/packages\/packages\.test\.ts$/,
    name: /the path in an agent entry/,
    systems: ['wine'],
    why: 'Wine has no junctions',
    inCi: true,
  },
  {
    file: /^src\/servers\/packages\/folders\.test\.ts$/,
    name: /^a link to another version/,
    systems: ['win32'],
    why: 'the test needs a link on a drive that it takes for one without links',
    inCi: true,
  },
  {
    file: /^src\/supervisor\/platform\/darwin\/darwin\.test\.ts$/,
    name: /without \/proc/,
    when: process.getuid?.() !== 0,
    why: 'only root may hide /proc from a process',
    inCi: true,
  },
  {
    file: /^src\/supervisor\/platform\/darwin\/darwin\.test\.ts$/,
    name: /lost its agent/,
    when: spawnSync('lsof', ['-v']).status !== 0,
    why: 'lsof was not found',
    inCi: true,
  },
  {
    file: /^src\/supervisor\/platform\/windows\/windows\.test\.ts$/,
    systems: ['linux', 'darwin'],
    why: 'it starts processes of Windows; `npm run platforms` runs it under Wine',
    inCi: true,
  },
  {
    file: /^src\/store\/configuration\/configuration\.test\.ts$/,
    systems: ['win32'],
    why: 'Windows refuses to delete an open file, or the test reads /proc',
    inCi: true,
  },
  {
    file: /^src\/kernel\/config\/data-folder\.test\.ts$/,
    name: /FIFO/,
    systems: ['win32'],
    why: 'Windows has no FIFO files',
    inCi: true,
  },
  { file: /^test\/e2e\/fresh-clone\.test\.ts$/, why: 'this is not a git checkout', inCi: true },
  {
    file: /^test\/(?:e2e\/(?:swagger-ui|oauth-browser|login-pages)|web\/[\w-]+)\.test\.ts$/,
    package: 'chromium',
    why: 'no Chromium was found',
  },
  {
    file: /^src\/observe\/metrics\/query\/prometheus\.test\.ts$/,
    name: /promtool/,
    package: 'prometheus',
    why: 'no promtool was found',
  },
  {
    file: /^test\/goals\/(?:disk-full|packages-disk-full|agent-files-disk)\.test\.ts$/,
    why: 'only root may mount a small disk',
  },
  {
    file: /^test\/cli\/(?:top|tools|data|completion|recordings|first-run)\.test\.ts$/,
    name: IN_TMUX,
    when: spawnSync('tmux', ['-V']).status !== 0,
    package: 'tmux',
    why: 'tmux was not found',
  },
  {
    file: /^src\/supervisor\/places\/(?:container\/container(?:-spec)?|sandbox\/mounts)\.test\.ts$/,
    systems: ['win32'],
    why: 'Toolroom has neither containers nor a sandbox on Windows: they are reached by a unix socket, or are part of Linux and macOS',
    inCi: true,
  },
  {
    file: /^(?:src\/(?:supervisor\/places|servers\/stdio\/actions\/try-isolation)|test\/cli\/(?:confinement|lost-files)\.test)/,
    name: /^with (?:bubblewrap|sandbox)/,
    systems: ['darwin', 'win32'],
    why: 'bubblewrap is a program of Linux',
    inCi: true,
  },
  {
    file: /^(?:src\/supervisor\/places\/|src\/servers\/stdio\/actions\/try-isolation|test\/(?:e2e\/(?:places|isolation)|web\/isolation|cli\/(?:confinement|lost-files))\.test)/,
    name: /^with (?:bubblewrap|sandbox)/,
    package: 'bubblewrap',
    why: 'bubblewrap was not found, or the kernel refuses user namespaces',
  },
  {
    file: /^(?:src\/supervisor\/places\/|test\/(?:e2e\/(?:places|isolation)|cli\/isolation)\.test)/,
    name: /^with docker/,
    package: 'docker.io',
    // Where no engine runs, container-spec.test.ts holds what it would be asked for: no capability, no log, a read-only root.
    why: 'this container engine was not found, or it cannot run here: it needs root, mounts and cgroups',
    inCi: true,
  },
  {
    file: /^(?:src\/supervisor\/places\/|test\/(?:e2e\/(?:places|isolation)|cli\/isolation)\.test)/,
    name: /^with podman/,
    package: 'podman',
    // Where no engine runs, container-spec.test.ts holds what it would be asked for: no capability, no log, a read-only root.
    why: 'this container engine was not found, or it cannot run here: it needs root, mounts and cgroups',
    inCi: true,
  },
  { file: /^test\/goals\/clock\.test\.ts$/, package: 'faketime', why: 'faketime was not found' },
  {
    file: /^test\/web\/screenshots\.test\.ts$/,
    why: 'only `npm run screenshots` and `npm run goals` take pictures',
    inCi: true,
  },
  {
    file: /^test\/goals\/hostile-streams\.test\.ts$/,
    name: /delays no call of another server/,
    why: 'its milliseconds need a machine that does nothing else, so only `npm run goals` runs it',
    inCi: true,
  },
  {
    file: /^test\/goals\/slow-clients\.test\.ts$/,
    name: /1120 connections/,
    why: 'it needs 2 GB of memory, so only `npm run goals` runs it',
    inCi: true,
  },
  {
    file: /^test\/cli\/autostart\.test\.ts$/,
    name: /a plist parser reads|well-formed UTF-16/,
    when: spawnSync('python3', ['--version']).status !== 0,
    why: 'python3, which has the parsers, was not found',
  },
  {
    file: /^test\/cli\/(?:service|autostart)\.test\.ts$/,
    name: /^(?:toolroom service systemd starts|the unit of systemd systemd accepts)/,
    why: 'systemd was not found, or it is started by `npm run goals` only',
    inCi: true,
  },
  {
    file: /^test\/cli\/completion\.test\.ts$/,
    name: /^the Tab key in /,
    why: 'this shell was not found',
    inCi: true,
  },
  {
    file: /^test\/goals\/power-loss\.test\.ts$/,
    name: /write-ahead log/,
    package: 'strace',
    why: 'strace was not found, or this container forbids tracing',
    inCi: true,
  },
  {
    file: /^test\/goals\/orphans\.test\.ts$/,
    name: /cgroup/,
    why: 'no cgroup is writable here',
    inCi: true,
  },
  { file: /^test\/e2e\/start\.test\.ts$/, name: /another user/, why: 'only root may change owners' },
  {
    file: /^src\/supervisor\/orphans\/orphans\.test\.ts$/,
    name: /in a container/,
    why: 'only root may create a pid namespace',
  },
]

/**
 * @param tests every test of a run, with its file, name and status
 * @param system the one that ran them: that of Node, or `wine`
 * @param missing the packages of Debian that tests need and that are not installed
 * @returns a line for each skipped test, and the number of those that had to run
 */
export function judgeSkipped(tests, inCi, system = process.platform, missing = []) {
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed')
  const judged = skipped.map((test) => ({ ...test, why: reasonToSkip(test, inCi, system, missing) }))
  return {
    lines: judged.map(({ file, name, why }) => `skipped  ${file} > ${name}: ${why ?? 'NO KNOWN REASON'}`),
    unexpected: judged.filter(({ why }) => why === undefined).length,
  }
}

/** Why a test may be skipped; undefined if it may not. */
function reasonToSkip({ file, name }, inCi, system, missing) {
  const systems = system === 'wine' ? ['wine', 'win32'] : [system]
  const reasons = ALLOWED.filter(
    (each) =>
      each.file.test(file) &&
      (each.name?.test(name) ?? true) &&
      (each.when ?? true) &&
      (each.systems?.some((each) => systems.includes(each)) ?? true) &&
      (each.inCi === true || !inCi),
  )
  const absent = reasons.find((each) => missing.includes(each.package))?.package
  return absent ? `not installed: ${absent} (apt-get install ${absent})` : reasons[0]?.why
}
