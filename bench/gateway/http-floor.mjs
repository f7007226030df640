// The HTTP baseline: bare node:http that parses the message and returns the result itself.
// PUT /list sets the bytes that tools/list returns.
import { createServer } from 'node:http'

const TYPE = 'application/json'
const SESSION = '0123456789abcdef'.repeat(2)
const serverInfo = { name: 'floor', version: '1' }
let list = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}')

const server = createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    const body = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    if (request.method === 'POST') return answer(JSON.parse(body.toString()), response)
    if (request.method === 'PUT') list = body
    response.writeHead(204).end()
  })
})

function answer({ id, method, params }, response) {
  if (id === undefined) return response.writeHead(202).end()
  if (method === 'tools/list') return send(response, list)
  if (method === 'initialize') {
    const result = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
    return send(response, resultBytes(id, result), { 'mcp-session-id': SESSION })
  }
  send(response, resultBytes(id, { content: [{ type: 'text', text: textOf(params) }] }))
}

/** The tool name is `<server>__<tool>`, as at the gateway. */
const textOf = ({ name, arguments: given }) => (name.endsWith('big') ? 'x'.repeat(given.bytes) : given.text)

const resultBytes = (id, result) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result }))

const send = (response, body, more) =>
  response.writeHead(200, { 'content-type': TYPE, 'content-length': body.length, ...more }).end(body)

server.listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${server.address().port}`))
process.once('SIGTERM', () => process.exit(0))
