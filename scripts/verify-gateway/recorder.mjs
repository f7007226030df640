// Preloaded into the service (node --import): records the requests and responses at the gateway. There is no proxy in
// between, so an agent uses exactly the address that was written into its file.
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'

const { WIRE_RECORD: path } = process.env
/** Never `authorization`, which contains a key. */
const HEADERS = ['user-agent', 'mcp-protocol-version', 'mcp-method', 'accept', 'origin']
const TEXT_MAX = 512 * 1024
let count = 0

subscribe('http.server.request.start', ({ request, response }) => {
  record(request, response, capture(request, 'push'))
})
// Requests that the service reads without node:http have arrived as a whole.
subscribe('toolroom.http.request.start', ({ request, response }) => {
  record(request, response, () => request.body.toString('utf8'))
})

function record(request, response, sent) {
  if (!/^\/(mcp|\.well-known)\b/.test(request.url)) return
  count += 1
  const n = count
  const headers = Object.fromEntries(HEADERS.map((name) => [name, request.headers[name]]))
  note({ n, at: 'begin', method: request.method, url: request.url, headers })
  let status = 200
  const { writeHead } = response
  response.writeHead = function (...args) {
    status = args[0]
    return writeHead.apply(this, args)
  }
  const received = [capture(response, 'write'), capture(response, 'end')]
  response.on('close', () => {
    const answer = received.map((text) => text()).join('')
    note({ n, at: 'end', status, sent: sent(), answer })
  })
}

/** Captures the data passed to a method, without changing it. @returns a function that returns the text so far */
function capture(stream, name) {
  const original = stream[name]
  const parts = []
  let bytes = 0
  stream[name] = function (...args) {
    const [part] = args
    if ((typeof part === 'string' || part instanceof Uint8Array) && bytes < TEXT_MAX) {
      parts.push(Buffer.from(part))
      bytes += part.length
    }
    return original.apply(this, args)
  }
  return () => Buffer.concat(parts).toString('utf8')
}

function note(entry) {
  appendFileSync(path, `${JSON.stringify(entry)}\n`)
}
