// The built service in an empty home directory, with two running servers and a record of the traffic at its gateway.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../lib.mjs'
import { startToolroom } from '../verify-agents/toolroom.mjs'
import { createWire } from './wire.mjs'

const RECORDER = pathToFileURL(join(root, 'scripts/verify-gateway/recorder.mjs')).href
const SERVERS = {
  echo: [join(root, 'test/fixtures/servers/echo.mjs')],
  everything: [join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'],
}
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** @returns `offered`: the gateway names of all tools */
export async function openTestBed() {
  // Resolved, because agents compare the folder they run in with the ones they trust.
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'toolroom-gateway-')))
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  const interrupted = () => process.exit(130) // runs all `exit` handlers
  process.once('exit', remove)
  for (const signal of SIGNALS) process.on(signal, interrupted)
  const project = join(home, 'project')
  mkdirSync(project)
  const record = join(home, 'wire.jsonl')
  const toolroom = await startToolroom(home, { preload: RECORDER, env: { WIRE_RECORD: record } })

  /** Keeps the recorded traffic for debugging. It contains no key. */
  function keepRecord(name) {
    const folder = join(root, 'node_modules/.cache/verify-gateway')
    const path = join(folder, `${name.replaceAll(/\W+/g, '-')}.jsonl`)
    mkdirSync(folder, { recursive: true })
    if (existsSync(record)) copyFileSync(record, path)
    return path
  }

  async function close() {
    await toolroom.stop()
    remove()
    process.off('exit', remove)
    for (const signal of SIGNALS) process.off(signal, interrupted)
  }

  try {
    const offered = []
    for (const [name, args] of Object.entries(SERVERS))
      offered.push(...(await addServer(toolroom, name, args)))
    return { home, project, toolroom, wire: createWire(record), offered: offered.sort(), keepRecord, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function addServer({ request }, name, args) {
  await request('POST', 'servers', { name, command: process.execPath, args })
  const { status } = await request('POST', `servers/${name}/start`)
  if (status !== 'running') throw new Error(`${name} is ${status} after its start`)
  const { items } = await request('GET', `servers/${name}/tools`)
  return items.flatMap(({ gateway_name }) => gateway_name ?? [])
}
