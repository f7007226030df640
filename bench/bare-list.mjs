// The baseline of a list: bare node:http that stringifies the same list for each request. POST sets the items.
import { createServer } from 'node:http'

let items = []
const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json')
  if (request.method !== 'POST')
    return response.end(JSON.stringify({ items, total: items.length, next_cursor: null }))
  let text = ''
  request.on('data', (chunk) => (text += chunk))
  request.on('end', () => {
    items = JSON.parse(text)
    response.end('{}')
  })
}).listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${server.address().port}`))
