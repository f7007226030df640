import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, onTestFinished } from 'vitest'
import { META, newKey } from './gateway.ts'
import { type House, openHouse } from './house.ts'
import { definition, post } from './running.ts'

/** A service with two libraries whose resources collide, a dual-era server with its own resources, and one with only tools. */
export async function furnished() {
  const house = await openHouse()
  await addLibrary(house, 'north', ['--instructions=Ask the north plainly'])
  await addLibrary(house, 'south')
  await start(house, definition('conformance'))
  await start(house, definition('echo'))
  const agent = await agentAt(house)
  // Lists are read in the background after a server is ready.
  await expect
    .poll(async () => [
      (await agent.listPrompts()).prompts.length,
      (await agent.listResources()).resources.length,
    ])
    .toEqual([7, 7])
  await expect.poll(async () => (await agent.listResourceTemplates()).resourceTemplates.length).toBe(4)
  return { house, agent }
}

/** Adds and starts a library with this name. */
export async function addLibrary(
  house: House,
  name: string,
  args: readonly string[] = [],
  more: object = {},
) {
  await start(house, { ...definition('library', [`--name=${name}`, ...args], more), name })
}

async function start(house: House, server: { readonly name: string }) {
  const added = await post(house, '/api/servers', server)
  expect(added.statusCode, added.body).toBe(201)
  const started = await post(house, `/api/servers/${server.name}/start`)
  expect(started.statusCode, started.body).toBe(200)
}

/** A client of the official SDK v1. */
export async function agentAt(house: House, path = '/mcp', prepare: (client: Client) => void = () => {}) {
  const client = new Client({ name: 'test', version: '1' })
  prepare(client)
  const key = await newKey(house)
  const transport = new StreamableHTTPClientTransport(new URL(house.address + path), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

/** One raw modern request; the test reads the body. */
export async function ask(
  house: House,
  method: string,
  params: Fields = {},
  more: Fields = {},
  path = '/mcp',
) {
  const named = params.name ?? params.uri
  return fetch(house.address + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${await newKey(house)}`,
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

/** The same, with the parsed JSON response. */
export async function modern(house: House, method: string, params: Fields = {}, path = '/mcp') {
  const reply = await ask(house, method, params, {}, path)
  return (await reply.json()) as { result?: Fields; error?: Fields }
}

type Fields = Readonly<Record<string, unknown>>
