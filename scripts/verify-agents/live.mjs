// A minimal Streamable HTTP server: an agent that connects has read our entry correctly.
import { createServer } from 'node:http'

/** Refuses requests without the header, so that `connected` also means that our headers arrive. */
export async function startLive(header, value) {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += part
    if (request.headers[header] !== value) return response.writeHead(403).end()
    // No GET stream and no sessions, which the protocol allows.
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = JSON.parse(text)
    if (id === undefined) return response.writeHead(202).end()
    const result = answerTo(method, params)
    const error = { code: -32601, message: 'Method not found' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const close = () => {
    server.closeAllConnections()
    return new Promise((closed) => server.close(closed))
  }
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, close }
}

function answerTo(method, params) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'live', version: '1.0.0' },
      }
    case 'tools/list':
      return { tools: [{ name: 'nothing', description: 'Does nothing', inputSchema: { type: 'object' } }] }
    case 'ping':
      return {}
    default:
      return undefined
  }
}
