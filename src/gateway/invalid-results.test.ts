import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type Asked, answerTo, bodyOf } from '../../test/fixtures/http/tiny.ts'
import { Agent, type Era, newKey } from '../../test/support/gateway.ts'
import { post, register } from '../../test/support/running-servers.ts'
import { openTestService } from '../../test/support/test-service.ts'
import { add } from '../../test/support/with-servers.ts'

const ERAS: readonly Era[] = ['legacy', 'modern']
/** Below and above the size from which results are forwarded without being parsed. */
const SIZES = [0, 12_000, 100_000]
const TOKENS = ['NaN', '-Infinity', 'undefined', '01', "'text'", '[1,]', '{"a":1,}', '{a:1}']

/** An HTTP server whose results have NaN after some padding. */
async function openInvalid(type: 'json' | 'stream') {
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const asked: Asked = await bodyOf(request)
    if (asked.id === undefined) return void response.writeHead(202).end()
    const bytes = Number(asked.params?.arguments?.bytes ?? 0)
    const result = `{"content":[{"type":"text","text":"${'x'.repeat(bytes)}"}],"value":NaN}`
    const isCall = asked.method === 'tools/call'
    const text = isCall ? `{"jsonrpc":"2.0","id":${asked.id},"result":${result}}` : answerTo(asked)
    const isStream = isCall && type === 'stream'
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    response.end(isStream ? `event: message\ndata: ${text}\n\n` : text)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test.each(ERAS)(
  'a result that is not valid JSON, such as NaN, is an error with a sentence for the call of a %s agent, at any size and in any layout (bytes are bytes)',
  async (era) => {
    const service = await openTestService()
    await register(service, 'not-json')
    await post(service, '/api/servers/not-json/start')
    const agent = await Agent.open(service, await newKey(service), era)
    for (const bytes of SIZES)
      for (const layout of ['last', 'first'])
        for (const token of TOKENS) {
          const { answers } = await agent.call('not-json__odd', { token, bytes, layout })
          expect(answers[0]?.error?.message, `${token} ${bytes} ${layout}`).toMatch(
            /^The call to 'odd' on 'not-json' failed: The response to tools\/call is not valid JSON at byte \d+ of \d+$/,
          )
        }
    const { answers } = await agent.call('not-json__odd', { token: '[1.0,-0,1e400]' })
    expect(answers[0]?.result).toMatchObject({ content: [{ type: 'text' }] })
  },
)

test.each(['json', 'stream'] as const)(
  'NaN in the %s response of an HTTP server is an error with a sentence for the call, at any size (bytes are bytes)',
  async (type) => {
    const service = await openTestService()
    await add(service, { name: 'far', url: await openInvalid(type) }, '/api/http-servers')
    await post(service, '/api/http-servers/far/tools/echo/call', { arguments: {} })
    const agent = await Agent.open(service, await newKey(service), 'legacy')
    for (const bytes of SIZES) {
      const { answers } = await agent.call('far__echo', { bytes })
      expect(answers[0]?.error?.message, String(bytes)).toContain(
        'The response to tools/call is not valid JSON at byte',
      )
    }
  },
)
