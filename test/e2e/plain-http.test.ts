import { once } from 'node:events'
import { Agent as Connections, type IncomingMessage, request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { pathOf } from '../support/counted-program.ts'
import { Agent, newKey, textOf, toolsIn } from '../support/gateway.ts'
import { openService } from '../support/service-process.ts'

const ECHO = { command: process.execPath, args: [pathOf('bench/gateway/echo.mjs')] }
/** How the bodiless response to a notification ends: the one thing that both readers write in different ways. */
const READERS = [
  ['api/http/plain', {}, { 'content-length': '0' }],
  ['node:http', { PLAIN_HTTP: 'off' }, { 'transfer-encoding': 'chunked' }],
] as const

/** `PLAIN_HTTP=off` must stay usable: docs/adr/0023-plain-requests-are-read-without-node-http.md. */
test.each(READERS)(
  'a legacy and a modern agent list tools, call one and learn of changes when %s reads their requests',
  async (_, env, ending) => {
    const service = await openService({ env })
    await service.add({ name: 'first', ...ECHO })
    await service.start('first')
    const key = await newKey(service)
    const legacy = await Agent.open(service, key, 'legacy')
    const modern = await Agent.open(service, key, 'modern')
    for (const agent of [legacy, modern]) {
      expect(toolsIn((await agent.ask('tools/list')).answers[0])).toContain('first__echo')
      for (const text of ['one', 'two']) {
        const { status, answers } = await agent.call('first__echo', { text })
        expect([status, answers.map(textOf)]).toEqual([200, [text]])
      }
    }

    const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const noted = await postAlone(`${service.address}/mcp`, legacy.headers, note)
    expect(noted.statusCode).toBe(202)
    expect(noted.headers).toMatchObject(ending)

    await service.add({ name: 'second', ...ECHO })
    await service.start('second')
    const methods = () => legacy.received.map(({ method }) => method)
    await expect.poll(methods).toContain('notifications/tools/list_changed')
    expect(toolsIn((await modern.ask('tools/list')).answers[0])).toContain('second__echo')
  },
)

/** Sends a request over a connection of its own: one that has sent a GET stays with node:http. */
async function postAlone(url: string, own: Record<string, string>, body: string): Promise<IncomingMessage> {
  const agent = new Connections({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const accept = 'application/json, text/event-stream'
  const length = { 'content-type': 'application/json', 'content-length': String(body.length) }
  const sent = request(url, { method: 'POST', agent, headers: { ...own, accept, ...length } }).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response
}
