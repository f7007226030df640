// Loaded into the service before itself (node --import): writes down what clients say at the gateway and what they are
// told. Nothing stands between them, so an agent talks to the very address that was written into its file.
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'

const { WIRE_RECORD: path } = process.env
/** Never `authorization`: that is a key. */
const HEADERS = ['user-agent', 'mcp-protocol-version', 'mcp-method', 'accept', 'origin']
const TEXT_MAX = 512 * 1024
let count = 0

subscribe('http.server.request.start', ({ request, response }) => {
  if (!/^\/(mcp|\.well-known)\b/.test(request.url)) return
  count += 1
  const n = count
  const headers = Object.fromEntries(HEADERS.map((name) => [name, request.headers[name]]))
  note({ n, at: 'begin', method: request.method, url: request.url, headers })
  const said = overhear(request, 'push')
  const told = [overhear(response, 'write'), overhear(response, 'end')]
  response.once('close', () => {
    const answer = told.map((text) => text()).join('')
    note({ n, at: 'end', status: response.statusCode, said: said(), answer })
  })
})

/** What goes through a method, without a change of it. @returns a function that gives the text so far */
function overhear(stream, name) {
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

function note(record) {
  appendFileSync(path, `${JSON.stringify(record)}\n`)
}
