import { LegacyAgent, type Message, modernRequest, textIn } from './event-streams.ts'
import { type Era, newKey } from './gateway.ts'
import type { TestService } from './test-service.ts'

export const UI = 'io.modelcontextprotocol/ui'
export const SHOWS_PAGES = { extensions: { [UI]: { mimeTypes: ['text/html;profile=mcp-app'] } } }
export const ERAS: readonly Era[] = ['legacy', 'modern']

type Fields = Readonly<Record<string, unknown>>

interface Options {
  readonly path?: string
  readonly capabilities?: object
  readonly agent?: string
}

export interface Host {
  readonly ask: (method: string, params?: Fields) => Promise<Message>
  /** The items of a list in the result of a request. */
  readonly items: (method: string, field: string, params?: Fields) => Promise<readonly Fields[]>
  /** The text of the first item of a result, or the error. */
  readonly call: (name: string, args?: object) => Promise<string>
  /** The page that a tool names. */
  readonly pageOf: (tool: string) => Promise<string | undefined>
}

/** An agent of either era, with a key of its own, that shows pages. */
export async function openHost(
  service: Pick<TestService, 'address'>,
  era: Era,
  { path = '/mcp', capabilities = SHOWS_PAGES, agent = 'cursor' }: Options = {},
): Promise<Host> {
  const endpoint = { address: service.address, key: await newKey(service, agent), path }
  const legacy = era === 'legacy' ? await LegacyAgent.open(endpoint, '2025-11-25', capabilities) : undefined
  const ask = (method: string, params: Fields = {}) =>
    (legacy?.request(method, params) ?? modernRequest(endpoint, method, params, { capabilities })).responded()
  const items = async (method: string, field: string, params: Fields = {}) =>
    ((await ask(method, params)).result?.[field] ?? []) as readonly Fields[]
  return {
    ask,
    items,
    async call(name, args = {}) {
      const reply = await ask('tools/call', { name, arguments: args })
      return reply.error ? `${reply.error.code} ${reply.error.message}` : textIn(reply)
    },
    async pageOf(tool) {
      const tools = await items('tools/list', 'tools')
      const meta = tools.find(({ name }) => name === tool)?._meta as { ui?: { resourceUri?: string } }
      return meta?.ui?.resourceUri
    },
  }
}
