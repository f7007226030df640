import { createServer, request as send } from 'node:http'

/**
 * The suite cannot send a key, so this stands between: a loopback address that adds the given headers to every request
 * and changes nothing else. Host and Origin that name the forwarder are made to name the target, because that is what
 * they would say without it. Foreign ones pass as they are, and with the key: what a target then refuses, it refuses
 * because of the name and not for want of a key.
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
    agent: false, // A connection per request, so that one that ends is seen at once by the other side.
  })
  upstream.on('response', (answer) => {
    response.writeHead(answer.statusCode, answer.statusMessage, withoutConnection(answer.rawHeaders))
    response.flushHeaders() // A stream may say nothing for a while.
    answer.on('data', (chunk) => response.write(chunk))
    answer.on('end', () => response.end())
    answer.on('error', () => response.destroy())
  })
  upstream.on('error', (error) => {
    if (response.headersSent) return response.destroy()
    response
      .writeHead(502, { 'content-type': 'text/plain' })
      .end(`The target cannot be reached: ${error.message}`)
  })
  // Going away means cancelling in the modern era: the target must see it.
  response.on('close', () => upstream.destroy())
  request.pipe(upstream)
}

/** As they were written, in their order. Node has trimmed the values, as any recipient must. */
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

/** It speaks of one connection, and here are two. */
const withoutConnection = (rawHeaders) =>
  pairs(rawHeaders)
    .filter(([name]) => !['connection', 'keep-alive'].includes(name.toLowerCase()))
    .flat()

const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]])
