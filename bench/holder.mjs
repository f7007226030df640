// The baseline: a bare Node process that runs tool servers. It does the handshake, lists the tools, restarts a server that
// exits, and nothing else. Reads `<servers> <at once>` from stdin, writes `ready` and `back` to stdout.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [script] = process.argv.slice(2)
const held = new Set()

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const [servers, atOnce] = line.split(' ').map(Number)
    const lane = async () => {
      while (held.size < servers) await hold()
    }
    await Promise.all(Array.from({ length: atOnce }, lane))
    console.log('ready')
  })
  .on('close', () => {
    for (const child of held) child.removeAllListeners('exit').kill('SIGKILL')
    process.exit(0)
  })

/** Settles when the tools are listed. */
function hold() {
  const { HOME } = process.env
  const child = spawn(process.execPath, [script], { env: process.env, detached: true, cwd: HOME })
  held.add(child)
  child.stderr.resume()
  child.stdin.on('error', () => {}) // the process has exited, which the exit event reports
  child.once('exit', () => {
    held.delete(child)
    void hold().then(() => console.log('back'))
  })
  return new Promise((resolve) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
        const { id } = JSON.parse(text.slice(0, end))
        text = text.slice(end + 1)
        if (id === 1) {
          tell(child, { method: 'notifications/initialized' })
          tell(child, { id: 2, method: 'tools/list', params: {} })
        } else if (id === 2) resolve()
      }
    })
    const clientInfo = { name: 'holder', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo }
    tell(child, { id: 1, method: 'initialize', params })
  })
}

const tell = (child, message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
