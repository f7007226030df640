import { createServer, request as send } from 'node:http'

/**
 * The suite cannot send a key, so this proxy adds the given headers to every request and changes nothing else. Host and
 * Origin that name the proxy are rewritten to the target, as they would be without it. Other values are passed through
 * with the key, so that the target refuses them because of the name and not because of a missing key.
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function startForwarder(targetUrl, headers) {
  const target = new URL(targetUrl)
  if (target.protocol !== 'http:') throw new Error('Only http: targets are forwarded')
  const server = createServer((request, response) => forward(request, response, { target, headers, own }))
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const own = `127.0.0.1:${server.address().port}`
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  return { url: `http://${own}${target.pathname}${target.search}`, close }
}

function forward(request, response, { target, headers, own }) {
  const upstream = send({
    host: target.hostname.replace(/^\[|\]$/g, ''),
    port: target.port || 80,
    method: request.method,
    path: request.url,
    headers: passed(request.rawHeaders, { target, headers, own }),
    setHost: false,
    agent: false, // One connection per request, so that the other side sees its end immediately.
  })
  upstream.on('response', (answer) => {
    response.writeHead(answer.statusCode, answer.statusMessage, withoutConnection(answer.rawHeaders))
    response.flushHeaders() // A stream may be silent for a while.
    answer.on('data', (chunk) => response.write(chunk))
    answer.on('end', () => response.end())
    answer.on('error', () => response.destroy())
  })
  upstream.on('error', (error) => {
    if (response.headersSent) return response.destroy()
    response.writeHead(502, { 'content-type': 'text/plain' }).end(`Cannot reach the target: ${error.message}`)
  })
  // In the modern era closing the connection cancels the request, so the target must see it.
  response.on('close', () => upstream.destroy())
  request.pipe(upstream)
}

/** The headers as written, in order. Node has trimmed the values, as any recipient must. */
function passed(rawHeaders, { target, headers, own }) {
  const added = Object.entries(headers)
  const names = added.map(([name]) => name.toLowerCase())
  const kept = pairs(withoutConnection(rawHeaders))
    .filter(([name]) => !names.includes(name.toLowerCase()))
    .map(([name, value]) => [name, renamed(name.toLowerCase(), value, { target, own })])
  return [...kept, ...added].flat()
}

function renamed(name, value, { target, own }) {
  if (name === 'host' && value === own) return target.host
  if (name === 'origin' && value === `http://${own}`) return target.origin
  return value
}

/** Hop-by-hop headers apply to one connection only. */
const withoutConnection = (rawHeaders) =>
  pairs(rawHeaders)
    .filter(([name]) => !['connection', 'keep-alive'].includes(name.toLowerCase()))
    .flat()

const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]])
