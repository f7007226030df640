// npm run dev: rebuilds and restarts the service when a source file changes. Flags are passed to the service.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root, say } from './lib.mjs'
import { buildHashes, prepare, rebuild } from './prepare.mjs'
import { userPath } from './user-path.mjs'

const SETTLE_MS = 80 // an editor saves in several steps, a branch switch changes many files
const STOP_MS = 15_000 // longer than the service's own deadline for its children
const main = join(root, 'dist/main.js')
const args = process.argv.slice(2)

let service
let wanted = true
let changed = false
let working = false

await prepare()
if (process.env.npm_lifecycle_event) process.env.PATH = userPath(process.env.PATH ?? '', root)
let built = JSON.stringify(buildHashes())
start()
for (const name of ['src', 'web', 'docs']) watch(join(root, name), { recursive: true }, onChange)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end)

function start() {
  service = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    // A terminal sends Ctrl-C to the whole group; in its own group the service gets the signal once, from this process.
    detached: process.platform !== 'win32',
  })
  service.on('exit', (code, signal) => {
    if (wanted) say(`The service ended (${signal ?? `exit code ${code}`}); it restarts after the next change`)
  })
}

async function stop() {
  const { exitCode, signalCode } = service
  if (exitCode !== null || signalCode !== null) return
  wanted = false
  const exited = once(service, 'exit')
  const timer = setTimeout(() => service.kill('SIGKILL'), STOP_MS)
  if (!(await askToEnd())) service.kill('SIGTERM')
  await exited
  clearTimeout(timer)
}

/** Over HTTP: Windows has no signal that the service could answer. False if it did not work. */
async function askToEnd() {
  const home = args.flatMap((arg, at) => (arg === '--toolroom-home' ? args.slice(at + 1, at + 2) : [])).at(-1)
  const env = { ...process.env, ...(home && { TOOLROOM_HOME: home }) }
  const down = spawn(process.execPath, [main, 'down'], { env, stdio: 'ignore', windowsHide: true })
  const [code] = await once(down, 'exit')
  return code === 0
}

function onChange() {
  changed = true
  if (working) return
  working = true
  follow()
    .catch((error) => say(String(error.stack)))
    .finally(() => {
      working = false
    })
}

async function follow() {
  while (changed) {
    changed = false
    await sleep(SETTLE_MS)
    const hash = JSON.stringify(buildHashes())
    if (changed || hash === built) continue
    const { code, output, ms } = await rebuild()
    if (code !== 0) {
      say(`${output.trimEnd()}\nThe build failed; the previous build keeps running`)
      continue
    }
    built = hash
    say(`Rebuilt in ${Math.round(ms)} ms, restarting`)
    await stop()
    wanted = true
    start()
  }
}

async function end() {
  wanted = false
  await stop()
  process.exit(service.exitCode ?? 1)
}
