import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/lib.mjs'

const MAIN = join(root, 'dist/main.js')
const START_MS = 30_000

/**
 * Starts the built service with an empty home directory.
 * @returns {Promise<{ address: string, close: () => Promise<void> }>}
 */
export async function startService(token, env = {}) {
  if (!existsSync(MAIN)) throw new Error('The service is not built: run npm run build first')
  const home = mkdtempSync(join(tmpdir(), 'conformance-home-'))
  const child = spawn(process.execPath, [MAIN], {
    cwd: home,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      PORT: '0',
      AUTH_TOKEN: token,
      HTTP_CHECK_INTERVAL_S: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  const close = async () => {
    process.off('exit', end)
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      await once(child, 'close')
    }
    rmSync(home, { recursive: true, force: true })
  }
  return { address: await addressOf(child), close }
}

function addressOf(child) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('The service did not start')), START_MS)
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part) => {
      text += part
      const address = /ready at (http:\S+)/.exec(text)?.[1]
      if (address) resolve(address)
      if (address) clearTimeout(late)
    })
    child.once('close', (code) => reject(new Error(`The service ended with code ${code}`)))
  })
}
