import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { markedIn, oursIn } from './leftovers.mjs'

const script = fileURLToPath(new URL('./leftovers.mjs', import.meta.url))

test.runIf(process.platform === 'linux')(
  'the script fails with the pid of a process that has the mark, and not any more when it has ended',
  async () => {
    const mark = `TOOLROOM_CHILD=test-${randomUUID()}`
    const child = spawn('sleep', ['60'], { env: { TOOLROOM_CHILD: mark.slice('TOOLROOM_CHILD='.length) } })
    onTestFinished(() => void child.kill('SIGKILL'))
    const check = () => spawnSync(process.execPath, [script, mark], { encoding: 'utf8' })
    expect(check()).toMatchObject({ status: 1, stdout: `process ${child.pid} is still alive: sleep 60 \n` })
    const { stdout } = spawnSync('ps', ['axeww', '-o', 'pid=,command='], { encoding: 'utf8' })
    expect(markedIn(stdout, mark).map(({ pid }) => pid)).toEqual([child.pid]) // as on macOS, where the option is -E
    child.kill('SIGKILL')
    expect(check()).toMatchObject({ status: 0, stdout: 'No process was left behind\n' })
  },
)

test('the mark is found in the environment that ps shows behind a command with spaces', () => {
  const text =
    '    1 /sbin/launchd\n 4711 /opt/my node/node a b PATH=/bin TOOLROOM_CHILD=ab/1\n 12 grep TOOLROOM\n'
  expect(markedIn(text, 'TOOLROOM_CHILD=')).toMatchObject([{ pid: 4711 }])
})

test('on Windows a leftover is a process of the checkout that did not start the script', () => {
  const row = (ProcessId: number, ParentProcessId: number, CommandLine: string | null) => ({
    ProcessId,
    ParentProcessId,
    CommandLine,
  })
  const rows = [
    row(0, 0, null),
    row(10, 0, 'cmd.exe /c D:\\a\\toolroom\\run.cmd'),
    row(11, 10, 'node.exe D:\\a\\toolroom\\scripts\\leftovers.mjs'),
    row(12, 99, 'node.exe d:\\A\\toolroom\\test\\fixtures\\echo.mjs'),
    row(13, 99, 'node.exe C:\\elsewhere\\x.mjs'),
  ]
  expect(oursIn(rows, ['D:\\a\\toolroom'], 11)).toMatchObject([{ pid: 12 }])
})

test('CI runs every test on three systems, and looks for leftovers even after a failure', () => {
  const file = fileURLToPath(new URL('../.github/workflows/test.yml', import.meta.url))
  const { permissions, jobs } = parse(readFileSync(file, 'utf8'))
  const { strategy, steps } = jobs.test
  expect(permissions).toEqual({ contents: 'read' })
  expect(strategy).toMatchObject({
    'fail-fast': false,
    matrix: {
      os: ['ubuntu-latest', 'macos-latest', 'windows-latest'],
      node: [20, 22, 24],
      exclude: [{ os: 'windows-latest', node: 20 }],
    },
  })
  expect(steps.slice(-2)).toEqual([
    { run: 'npm test' },
    { run: 'node scripts/leftovers.mjs', if: 'always()' },
  ])
})
