// The tests that may be skipped, and why. `npm test` prints every skipped test; in CI any other skip is a failure.
import { spawnSync } from 'node:child_process'

/** `inCi` is true where a new machine, on which CI runs as root, cannot run the test either. */
const ALLOWED = [
  {
    file: /./,
    when: process.platform !== 'linux',
    why: `it reads /proc or starts POSIX processes, which ${process.platform} does not have`,
    inCi: true,
  },
  {
    file: /^src\/supervisor\/orphans\/orphans\.test\.ts$/,
    name: /without \/proc/,
    when: process.platform === 'linux',
    why: 'it is about systems without /proc',
    inCi: true,
  },
  { file: /^test\/e2e\/fresh-clone\.test\.ts$/, why: 'this is not a git checkout', inCi: true },
  { file: /^test\/(?:e2e\/swagger-ui|web\/[\w-]+)\.test\.ts$/, why: 'no Chromium was found' },
  { file: /^src\/metrics\/query\/prometheus\.test\.ts$/, name: /promtool/, why: 'no promtool was found' },
  {
    file: /^test\/goals\/(?:disk-full|packages-disk-full|agent-files-disk)\.test\.ts$/,
    why: 'only root may mount a small disk',
  },
  {
    file: /^test\/cli\/(?:top|tools|care|completion|recordings|first-run)\.test\.ts$/,
    name: /^(?:top in|each key of top|the log in top|a question of a tool|on a terminal|the Tab key|the recording|.* in a terminal)/,
    when: spawnSync('tmux', ['-V']).status !== 0,
    why: 'tmux was not found',
  },
  { file: /^test\/goals\/clock\.test\.ts$/, why: 'faketime was not found' },
  {
    file: /^test\/goals\/slow-clients\.test\.ts$/,
    name: /1120 connections/,
    why: 'it needs 2 GB of memory, so only `npm run goals` runs it',
    inCi: true,
  },
  {
    file: /^test\/cli\/service\.test\.ts$/,
    name: /^toolroom service systemd (?:starts|accepts)/,
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
 * @returns a line for each skipped test, and the number of those that had to run
 */
export function judgeSkipped(tests, inCi) {
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed')
  const judged = skipped.map((test) => ({ ...test, why: reasonToSkip(test, inCi) }))
  return {
    lines: judged.map(({ file, name, why }) => `skipped  ${file} > ${name}: ${why ?? 'NO KNOWN REASON'}`),
    unexpected: judged.filter(({ why }) => why === undefined).length,
  }
}

/** Why a test may be skipped; undefined if it may not. */
function reasonToSkip({ file, name }, inCi) {
  return ALLOWED.find(
    (each) =>
      each.file.test(file) &&
      (each.name?.test(name) ?? true) &&
      (each.when ?? true) &&
      (each.inCi === true || !inCi),
  )?.why
}
