// Runs the built service in its own home directory, with a client for its REST API.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../lib.mjs'

const START_DEADLINE_MS = 20_000
const STOP_DEADLINE_MS = 10_000
const REQUEST_DEADLINE_MS = 30_000

/**
 * `preload`: a module that Node loads before the service; `env`: additional environment variables; `requestMs`: the deadline
 * of a request.
 */
export async function startToolroom(home, { preload, env = {}, requestMs = REQUEST_DEADLINE_MS } = {}) {
  const token = randomBytes(32).toString('hex')
  const own = { PATH: process.env.PATH, HOME: home, PORT: '0', AUTH_TOKEN: token, HTTP_CHECK_INTERVAL_S: '0' }
  const args = [...(preload ? ['--import', preload] : []), join(root, 'dist/main.js')]
  const child = spawn(process.execPath, args, {
    cwd: home,
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  const kill = () => child.kill('SIGKILL')
  process.prependOnceListener('exit', kill) // before the home directory is removed

  async function stop() {
    const late = setTimeout(kill, STOP_DEADLINE_MS)
    child.kill('SIGTERM')
    await ended
    clearTimeout(late)
    process.off('exit', kill)
  }

  const ask = (method, path, body) => request(method, `agents/${path}`, body)

  async function request(method, path, body) {
    const reply = await fetch(`${address}/api/${path}`, {
      method,
      // A kept connection may be closed by the service while the next request is sent.
      headers: {
        connection: 'close',
        'x-svc-token': token,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(requestMs),
    })
    const answer = reply.status === 204 ? undefined : await reply.json()
    if (!reply.ok) throw new Error(`${method} ${path} returned ${reply.status}: ${answer.detail ?? ''}`)
    return answer
  }

  const address = await addressOf(child, ended).catch(async (error) => {
    await stop()
    throw error
  })
  return { ask, request, address, stop }
}

function addressOf(child, ended) {
  return new Promise((resolve, reject) => {
    let output = ''
    const late = setTimeout(() => reject(new Error('Toolroom did not start in time')), START_DEADLINE_MS)
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
        const found = /ready at (http:\S+)/.exec(output)?.[1]
        if (!found) return
        clearTimeout(late)
        resolve(found)
      })
    }
    ended.then(() => {
      clearTimeout(late)
      reject(new Error(`Toolroom ended: ${output.trim().slice(-500)}`))
    }, reject)
  })
}
