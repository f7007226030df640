// A minimal tool server that responds immediately, line by line. `echo.mjs [tools]` adds that many tools.
import { toolsOf } from './tools.mjs'

const [more = '0'] = process.argv.slice(2)
const tools = toolsOf(Number(more))
const serverInfo = { name: 'bench', version: '1' }
let parts = []

process.stdin.on('data', (chunk) => {
  let from = 0
  for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
    parts.push(chunk.subarray(from, end))
    answer(JSON.parse(parts.length === 1 ? parts[0].toString() : Buffer.concat(parts).toString()))
    parts = []
    from = end + 1
  }
  if (from < chunk.length) parts.push(chunk.subarray(from))
})

function answer({ id, method, params }) {
  if (id === undefined) return
  const result = resultOf(method, params)
  const outcome = result ? { result } : { error: { code: -32_601, message: 'Method not found' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`)
}

function resultOf(method, params) {
  if (method === 'tools/call') return { content: [{ type: 'text', text: textOf(params) }] }
  if (method === 'tools/list') return { tools }
  if (method === 'ping') return {}
  if (method !== 'initialize') return undefined
  return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
}

const textOf = ({ name, arguments: given }) => (name === 'big' ? 'x'.repeat(given.bytes) : given.text)
