// Writes web/generated/api.d.ts: the types of the REST API, from the OpenAPI document of the built service.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import { fail, root } from './lib.mjs'
import { buildHashes, prepare } from './prepare.mjs'

const FILE = join(root, 'web/generated/api.d.ts')
const DEADLINE_MS = 30_000

await prepare()
const stamp = `// Generated from /docs/json of the build ${buildHashes().service}. Not edited, not committed.\n`
if (!readOrEmpty(FILE).startsWith(stamp)) {
  // A field with a default may be omitted in a request.
  const types = astToString(await openapiTS(await openApi(), { defaultNonNullable: false }))
  mkdirSync(join(root, 'web/generated'), { recursive: true })
  writeFileSync(FILE, `${stamp}${types}`)
}

/** Starts the service in a folder of its own, because only the running service knows all its routes. */
async function openApi() {
  const home = mkdtempSync(join(tmpdir(), 'toolroom-types-'))
  const child = spawn(process.execPath, [join(root, 'dist/main.js')], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, PORT: '0', HTTP_CHECK_INTERVAL_S: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => fail('Cannot generate the types: the service did not start'), DEADLINE_MS)
  try {
    let output = ''
    const address = await new Promise((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          output += text
          const found = /ready at (http:\S+)/.exec(output)?.[1]
          if (found) resolve(found)
        })
      child.on('exit', () => reject(new Error(`The service ended: ${output}`)))
    })
    return await (await fetch(`${address}/docs/json`)).json()
  } finally {
    clearTimeout(timer)
    child.removeAllListeners('exit')
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await exited
    rmSync(home, { recursive: true, force: true })
  }
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // not generated yet
  }
}
