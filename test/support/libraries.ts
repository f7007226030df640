import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'vitest'
import { META, newKey } from './gateway.ts'
import { atEnd } from './lifetime.ts'
import { definition, post } from './running-servers.ts'
import { openTestService, type TestService } from './test-service.ts'

/** A service with two libraries whose entries collide, a dual-era server with resources, and one with tools only. */
export async function openLibraries() {
  const service = await openTestService()
  await addLibrary(service, 'north', ['--instructions=Ask the north plainly'])
  await addLibrary(service, 'south')
  await start(service, definition('conformance'))
  await start(service, definition('echo'))
  const agent = await agentAt(service)
  // The other lists arrive after a server is ready.
  await expect
    .poll(async () => [
      (await agent.listPrompts()).prompts.length,
      (await agent.listResources()).resources.length,
    ])
    .toEqual([7, 7])
  await expect.poll(async () => (await agent.listResourceTemplates()).resourceTemplates.length).toBe(4)
  return { service, agent }
}

/** Adds a library with this name and starts it. */
export async function addLibrary(
  service: TestService,
  name: string,
  args: readonly string[] = [],
  more: object = {},
) {
  await start(service, { ...definition('library', [`--name=${name}`, ...args], more), name })
}

async function start(service: TestService, server: { readonly name: string }) {
  const added = await post(service, '/api/servers', server)
  expect(added.statusCode, added.body).toBe(201)
  const started = await post(service, `/api/servers/${server.name}/start`)
  expect(started.statusCode, started.body).toBe(200)
}

/** Connects a client of the MCP SDK. */
export async function agentAt(
  service: TestService,
  path = '/mcp',
  prepare: (client: Client) => void = () => {},
) {
  const client = new Client({ name: 'test', version: '1' })
  prepare(client)
  const key = await newKey(service)
  const transport = new StreamableHTTPClientTransport(new URL(service.address + path), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  await client.connect(transport)
  atEnd(() => client.close())
  return client
}

/** Sends a request of a modern agent. The test reads the body. */
export async function modernFetch(
  service: TestService,
  method: string,
  params: Fields = {},
  more: Fields = {},
  path = '/mcp',
) {
  const named = params.name ?? params.uri
  return fetch(service.address + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${await newKey(service)}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof named === 'string' && { 'mcp-name': named }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method,
      params: { ...params, _meta: { ...META, ...more } },
    }),
  })
}

/** Sends a request of a modern agent that is answered in plain JSON. */
export async function modern(service: TestService, method: string, params: Fields = {}, path = '/mcp') {
  const reply = await modernFetch(service, method, params, {}, path)
  return (await reply.json()) as { result?: Fields; error?: Fields }
}

type Fields = Readonly<Record<string, unknown>>
