import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { answerTo } from '../../../test/fixtures/http/tiny.ts'
import { add } from '../../../test/support/furnished.ts'
import { Agent, type Era, META, newKey } from '../../../test/support/gateway.ts'
import { openHouse } from '../../../test/support/house.ts'
import { post } from '../../../test/support/running.ts'

/** An HTTP server that records the bodies of tool calls as text. */
async function openRecorder() {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += part
    const message = text === '' ? {} : JSON.parse(text)
    if (message.method === 'tools/call') bodies.push(text)
    if (request.method !== 'POST') response.writeHead(405).end()
    else if (message.id === undefined) response.writeHead(202).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(answerTo(message))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` }
}

test.each<Era>(['legacy', 'modern'])(
  'large arguments of a %s agent reach an HTTP server as the bytes that the agent sent',
  async (era) => {
    const { bodies, url } = await openRecorder()
    const house = await openHouse()
    await add(house, { name: 'far', url }, '/api/http-servers')
    await post(house, '/api/http-servers/far/tools/echo/call', { arguments: { text: 'first' } })
    const agent = await Agent.open(house, await newKey(house), era)
    const padding = 'x'.repeat(20_000)
    // JSON.parse and JSON.stringify would change each of these numbers, and the spaces.
    const args = `{ "text":"hello", "big": 12345678901234567890, "exact": 1.0, "power": 1E2, "padding":"${padding}" }`
    const meta = era === 'modern' ? `"_meta":${JSON.stringify(META)},` : ''
    const params = `{${meta}"name":"far__echo","arguments":${args}}`
    const modern = era === 'modern' ? { 'mcp-method': 'tools/call', 'mcp-name': 'far__echo' } : {}
    const reply = await fetch(`${house.address}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...agent.headers,
        ...modern,
      },
      body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`,
    })
    expect(await reply.json()).toMatchObject({ id: 7, result: { content: [{ text: 'hello' }] } })
    expect(bodies.at(-1)).toContain(`"arguments":${args}}`)
  },
)
