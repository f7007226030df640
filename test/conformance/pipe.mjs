// Minimal Streamable HTTP in front of a stdio server, in both eras: it tests the fixture without the gateway.
//   node test/conformance/pipe.mjs [--port 3000]
// No keys, no resumption, no restarts. One process per legacy session, one for all modern requests.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { answerLegacy, LegacySessions } from './pipe/legacy.mjs'
import { answerModern } from './pipe/modern.mjs'
import { StdioChild } from './pipe/stdio-child.mjs'
import { readJson, refuse } from './pipe/wire.mjs'

const FIXTURE = [
  process.execPath,
  fileURLToPath(new URL('../fixtures/servers/conformance.mjs', import.meta.url)),
]
const LOCAL_NAMES = ['localhost', '127.0.0.1', '[::1]']
const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--port')
  const pipe = await startPipe({ port: at < 0 ? 0 : Number(process.argv[at + 1]) })
  console.log(pipe.url)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, pipe.close)
}

/** @returns {Promise<{ url: string, close: () => Promise<void> }>} */
export async function startPipe({ command = FIXTURE, port = 0 } = {}) {
  const shared = new StdioChild(command)
  const sessions = new LegacySessions(() => new StdioChild(command))
  const server = createServer((request, response) => {
    answer(request, response, { shared, sessions }).catch((error) =>
      refuse(response, 500, -32603, error.message, null),
    )
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const close = async () => {
    server.close()
    server.closeAllConnections()
    await Promise.all([shared.end(), sessions.end()])
  }
  return { url: `http://127.0.0.1:${server.address().port}/mcp/fixture`, close }
}

async function answer(request, response, { shared, sessions }) {
  if (!isLocal(request)) return refuse(response, 403, -32000, 'Host or Origin is not local', null)
  const version = request.headers['mcp-protocol-version']
  if (request.method !== 'POST') {
    if (isUnknownToLegacy(version)) return methodNotAllowed(response)
    return answerLegacy(request, response, undefined, sessions)
  }
  const message = await readJson(request)
  if (message === undefined) return refuse(response, 400, -32700, 'Parse error', null)
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    return refuse(response, 400, -32600, 'Batches are not supported', null)
  // An unknown version is handled by the modern side, whose error lists the supported ones.
  const isModern = message.params?._meta?.[VERSION_KEY] !== undefined || isUnknownToLegacy(version)
  if (isModern) return answerModern(request, response, message, shared)
  return answerLegacy(request, response, message, sessions)
}

function isUnknownToLegacy(version) {
  return version !== undefined && !LEGACY_VERSIONS.includes(version)
}

function methodNotAllowed(response) {
  response.setHeader('allow', 'POST')
  refuse(response, 405, -32000, 'Only POST', null)
}

/** With DNS rebinding, Host and Origin still contain the foreign name. */
function isLocal({ headers: { host = '', origin }, socket }) {
  const hosts = LOCAL_NAMES.map((name) => `${name}:${socket.localPort}`)
  return hosts.includes(host) && (origin === undefined || hosts.some((each) => origin === `http://${each}`))
}
