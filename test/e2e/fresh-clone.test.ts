import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { outsideEnv } from '../../scripts/outside-env.mjs'
import { ownFolder } from '../support/folder.ts'
import { FULL } from '../support/full-or-short.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Copies the files that a clone would contain, in their current state. */
function cloneInto(folder: string): void {
  const names = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const name of names.split('\0').filter((each) => each !== '' && existsSync(join(root, each)))) {
    cpSync(join(root, name), join(folder, name), { recursive: false })
  }
}

async function npmStart(
  clone: string,
  home: string,
): Promise<{ ms: number; stdout: string; stderr: string; status: number; ended: boolean }> {
  const startedAt = performance.now()
  const child = spawn('npm', ['start', '--silent'], {
    cwd: clone,
    detached: true, // its own group, so that npm, its shell and the service get one signal
    env: { ...outsideEnv(), HOME: home, PORT: '0', NODE_ENV: '', XDG_DATA_HOME: '', XDG_CONFIG_HOME: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // it has ended
    }
  })
  let stdout = ''
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.includes('\n')) resolve()
    })
    child.once('close', (code) => reject(new Error(`npm start ended with ${code}: ${stderr}`)))
  })
  const ms = performance.now() - startedAt
  const address = /http:\S+/.exec(stdout)?.[0]
  const { status } = await fetch(`${address}/api/health`)
  process.kill(-(child.pid ?? 0), 'SIGINT') // like Ctrl-C
  await once(child, 'close')
  const ended = await fetch(`${address}/api/health`).then(
    () => false,
    () => true,
  )
  return { ms, stdout, stderr, status, ended }
}

test.runIf(existsSync(join(root, '.git')))(
  'npm start in a fresh clone with an empty home directory prints one line and serves requests, twice in a row',
  async () => {
    const [clone, home] = [ownFolder(), ownFolder()]
    cloneInto(clone)
    expect(existsSync(join(clone, 'node_modules'))).toBe(false)
    // `npm test` in a fresh clone installs with the same code. To install 400 MB again belongs to the goals.
    if (!FULL) symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
    const first = await npmStart(clone, home)
    const second = await npmStart(clone, home)
    for (const { stdout, status, ended } of [first, second]) {
      expect(stdout).toMatch(/^Toolroom is ready at http:\/\/127\.0\.0\.1:\d+ \(token in \S+\)\n$/)
      expect({ status, ended }).toEqual({ status: 200, ended: true })
    }
    expect(dirname(/token in (\S+)\)/.exec(first.stdout)?.[1] ?? '')).toBe(
      join(home, '.local/share/toolroom'),
    )
    console.log(`first start ${Math.round(first.ms)} ms, second start ${Math.round(second.ms)} ms`)
  },
  600_000,
)
