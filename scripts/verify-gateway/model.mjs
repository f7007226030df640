// A scripted model: it calls the given tool as soon as it is offered, and then finishes. It implements the four model APIs
// that the agents use, so that a whole agent session runs on this computer without a sign-in.
import { createServer } from 'node:http'
import { DIALECTS } from './dialects.mjs'

/** @returns `offered`: tool names as the agent sends them; `results`: the results of its call, as JSON */
export async function startModel({ tool: pattern, args }) {
  const offered = new Set()
  const results = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += part
    const { pathname } = new URL(request.url, 'http://127.0.0.1')
    const dialect = DIALECTS.find(({ path }) => path.test(pathname))
    if (!dialect) return response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
    const body = JSON.parse(text)
    const tools = dialect.toolsIn(body)
    for (const { name } of tools) offered.add(name)
    const found = dialect.resultsIn(body)
    results.push(...found.map((each) => JSON.stringify(each)))
    const tool = found.length === 0 ? tools.find(({ name }) => pattern.test(name)) : undefined
    const events = tool ? dialect.call(tool, args) : dialect.finish('done')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map(eventOf).join(''))
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const close = () => {
    server.closeAllConnections()
    return new Promise((closed) => server.close(closed))
  }
  return { url: `http://127.0.0.1:${server.address().port}`, offered, results, close }
}

function eventOf(data) {
  const name = data.type ? `event: ${data.type}\n` : ''
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
}
