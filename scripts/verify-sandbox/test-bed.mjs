// The built service in an empty home directory, with a page on loopback that browsers can open.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { npmOfThisComputer } from '../outside-env.mjs'
import { startToolroom } from '../verify-agents/toolroom.mjs'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** A trial of a server that does not answer takes a minute. */
const REQUEST_MS = 180_000
const INSTALL_MS = 10 * 60_000
const POLL_MS = 500
const PAGE = '<!doctype html><title>A page</title><h1>A page on loopback</h1>'

export async function openTestBed() {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'toolroom-sandbox-')))
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  const interrupted = () => process.exit(130) // runs all `exit` handlers
  process.once('exit', remove)
  for (const signal of SIGNALS) process.on(signal, interrupted)
  const pages = createServer((_, response) => response.setHeader('content-type', 'text/html').end(PAGE))
  await new Promise((resolve) => pages.listen(0, '127.0.0.1', resolve))
  const toolroom = await startToolroom(home, { env: npmOfThisComputer(), requestMs: REQUEST_MS })
  const { request, address } = toolroom

  async function close() {
    await toolroom.stop()
    pages.close()
    pages.closeAllConnections()
    remove()
    process.off('exit', remove)
    for (const signal of SIGNALS) process.off(signal, interrupted)
  }

  /** @returns the installed package. It is installed without its install scripts */
  async function install(name, version) {
    const { job } = await request('POST', 'packages/install-npm?async=true', { name, version })
    for (const end = performance.now() + INSTALL_MS; performance.now() < end; await sleep(POLL_MS)) {
      const { status, error, result } = await request('GET', `jobs/${job}`)
      if (status === 'done') return result
      if (status !== 'queued' && status !== 'running')
        throw new Error(error?.message ?? `The job is ${status}`)
    }
    throw new Error(`${name} was not installed in time`)
  }

  /** Adds a server and starts it. @returns its own gateway and a key for it */
  async function offer(definition, tool) {
    const { id } = await request('POST', 'servers', definition)
    await request('POST', `servers/${id}/start`)
    const { key } = await request('POST', 'keys', { agent_type: 'mcp-remote' })
    return { url: `${address}/mcp/${id}`, key, tool }
  }

  return { home, page: `http://127.0.0.1:${pages.address().port}/`, request, install, offer, close }
}
