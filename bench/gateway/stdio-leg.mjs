// The stdio baseline: a bare Node process that writes a line to a server and reads one.
// A job is { times, line }.
import { spawn } from 'node:child_process'

const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
let settle
let parts = []

child.stdout.on('data', (chunk) => {
  parts.push(chunk)
  if (chunk[chunk.length - 1] !== 10) return
  const text = parts.length === 1 ? chunk : Buffer.concat(parts)
  parts = []
  settle(JSON.parse(text.toString()))
})
child.on('exit', () => process.exit(0))
process.on('disconnect', () => child.stdin.end())

process.on('message', async ({ times, line }) => {
  const ms = []
  for (let n = 0; n < times; n += 1) {
    const askedAt = performance.now()
    const { result } = await ask(line)
    ms.push(performance.now() - askedAt)
    if (!result) return process.send({ error: 'the response has no result' })
  }
  ms.sort((a, b) => a - b)
  process.send({ p50: ms[Math.floor(ms.length / 2)], p99: ms[Math.floor(ms.length * 0.99)] })
})

const ask = (line) =>
  new Promise((resolve) => {
    settle = resolve
    child.stdin.write(`${line}\n`)
  })

const clientInfo = { name: 'bench', version: '1' }
const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
await ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }))
child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
process.send({ pid: child.pid })
