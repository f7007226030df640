import { describe, expect, test } from 'vitest'
import { ERAS, type Host, openHost, SHOWS_PAGES, UI } from '../../test/support/apps.ts'
import { LegacyAgent } from '../../test/support/event-streams.ts'
import { type Era, newKey } from '../../test/support/gateway.ts'
import { definition, post } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../test/support/test-service.ts'

async function start(service: TestService, name: string, kind: string, args: readonly string[]) {
  const added = await post(service, '/api/servers', definition(kind, args, { name }))
  expect(added.statusCode, added.body).toBe(201)
  const started = await post(service, `/api/servers/${name}/start`)
  expect(started.statusCode, started.body).toBe(200)
}

const metaOf = (tools: readonly Readonly<Record<string, unknown>>[], name: string) =>
  tools.find((tool) => tool.name === name)?._meta

/** Two servers with the same page, one of each era, a third one with its own, and one without pages. */
async function openApps(): Promise<TestService> {
  const service = await openTestService()
  await Promise.all([
    start(service, 'one', 'app', ['--name=one', '--picky']),
    start(service, 'two', 'app', ['--name=two', '--era=modern', '--picky']),
    start(service, 'view', 'app', ['--name=view', '--page=ui://view/only.html', '--unlisted']),
    start(service, 'echo', 'echo', []),
  ])
  const { items } = await openHost(service, 'modern')
  await expect.poll(() => items('resources/list', 'resources')).toHaveLength(2)
  await expect.poll(() => items('resources/templates/list', 'resourceTemplates')).toHaveLength(3)
  return service
}

describe('pages of MCP Apps at /mcp', () => {
  test('every page has the URI ui://<server>/<rest>, in the lists, in tools, in results and in the page itself, in both eras', async () => {
    const service = await openApps()
    const [one, two] = ['ui://one/app/view.html', 'ui://two/app/view.html']
    for (const era of ERAS) {
      const { ask, items } = await openHost(service, era)
      const tools = await items('tools/list', 'tools')
      expect(metaOf(tools, 'one__show')).toEqual({ ui: { resourceUri: one }, 'ui/resourceUri': one })
      expect(metaOf(tools, 'two__show')).toEqual({ ui: { resourceUri: two }, 'ui/resourceUri': two })
      expect(metaOf(tools, 'two__refresh')).toEqual({ ui: { resourceUri: two, visibility: ['app'] } })
      expect(metaOf(tools, 'view__show')).toMatchObject({ ui: { resourceUri: 'ui://view/view/only.html' } })
      const resources = await items('resources/list', 'resources')
      expect(resources.map(({ uri }) => uri)).toEqual([one, two])
      const templates = await items('resources/templates/list', 'resourceTemplates')
      expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual([
        `${one}/tiles/{z}`,
        `${two}/tiles/{z}`,
        'ui://view/view/only.html/tiles/{z}',
      ])
      for (const [server, uri] of [
        ['one', one],
        ['two', two],
        ['one', `${one}/tiles/7`],
        ['two', 'ui://two/app/legend.html'],
      ]) {
        const [page] = await items('resources/read', 'contents', { uri })
        expect(page).toMatchObject({ uri, text: expect.stringContaining(`<p>${server} has ui://app/`) })
      }
      const { result } = await ask('tools/call', { name: 'two__show', arguments: {} })
      expect(result).toMatchObject({
        content: [
          { text: 'two shows' },
          { type: 'resource_link', uri: two },
          { type: 'resource', resource: { uri: 'ui://two/app/legend.html' } },
        ],
        _meta: { ui: { resourceUri: two }, 'ui/resourceUri': two, other: 'ui' },
      })
      const ref = { type: 'ref/resource', uri: `${two}/tiles/{z}` }
      const completed = await ask('completion/complete', { ref, argument: { name: 'z', value: '' } })
      const values = ['two completes ui://app/view.html/tiles/{z}']
      expect(completed.result).toMatchObject({ completion: { values } })
    }
  })

  test('a page calls the tools of its server by their own names and reads its own URIs, in both eras', async () => {
    const service = await openApps()
    const unknown =
      '-32602 Unknown tool: refresh. Several servers have a tool of this name: call one__refresh or two__refresh or view__refresh'
    for (const era of ERAS) {
      const [{ ask, items, call }, other] = [await openHost(service, era), await openHost(service, era)]
      expect(await call('refresh')).toBe(unknown)
      expect(await call('nothing')).toBe('-32602 Unknown tool: nothing')
      expect(await call('pid')).toMatch(/^\d+$/) // only `echo` has it
      for (const server of ['two', 'one']) {
        await ask('resources/read', { uri: `ui://${server}/app/view.html` })
        expect(await call('refresh')).toBe(`${server} refreshed`)
        expect(await call('view__refresh')).toBe('view refreshed')
        const own = 'ui://app/view.html'
        const [page] = await items('resources/read', 'contents', { uri: own })
        expect(page).toMatchObject({ uri: own, text: expect.stringContaining(`<p>${server} has`) })
      }
      expect(await other.call('refresh')).toBe(unknown)
    }
  })

  test('an agent that shows no pages has the same tools, and a modern server gets its capabilities', async () => {
    const service = await openApps()
    const namesFor = async ({ items }: Host) => (await items('tools/list', 'tools')).map(({ name }) => name)
    const seen = async ({ call }: Host, server: string) => JSON.parse(await call(`${server}__where`)).client
    for (const era of ERAS) {
      const [plain, able] = [await openHost(service, era, { capabilities: {} }), await openHost(service, era)]
      expect(await namesFor(plain)).toEqual(await namesFor(able))
      for (const server of ['one', 'two']) expect(await plain.call(`${server}__show`)).toBe(`${server} shows`)
      for (const each of [plain, able]) expect(await seen(each, 'one')).toMatchObject(SHOWS_PAGES)
      expect(await seen(plain, 'two')).not.toHaveProperty('extensions')
      expect(await seen(able, 'two')).toMatchObject(SHOWS_PAGES)
    }
  })

  test('a page of a server that is hidden from the agent cannot be read, and its tools do not count', async () => {
    const service = await openApps()
    const payload = { servers: ['two', 'echo'] }
    const url = '/api/agents/codex/tools'
    const set = await service.inject({ method: 'PUT', url, headers: AUTHORISED, payload })
    expect(set.statusCode, set.body).toBe(200)
    const { ask, call } = await openHost(service, 'modern', { agent: 'codex' })
    expect(await call('refresh')).toBe('two refreshed')
    const { error } = await ask('resources/read', { uri: 'ui://one/app/view.html' })
    expect(error?.message).toBe('Resource not found')
  })
})

describe('announcing MCP Apps', () => {
  const extensionsAt = async (service: TestService, era: Era, path: string) => {
    const { ask } = await openHost(service, era, { path })
    const method = era === 'legacy' ? 'initialize' : 'server/discover'
    const { result } = await ask(method, { protocolVersion: '2025-11-25', capabilities: {} })
    const { extensions } = (result?.capabilities ?? {}) as { extensions?: object }
    return extensions
  }

  test('/mcp announces the extension when a visible server has pages, and /mcp/{server_id} what its server announces', async () => {
    const service = await openTestService()
    await start(service, 'echo', 'echo', [])
    for (const era of ERAS) expect(await extensionsAt(service, era, '/mcp')).toBeUndefined()
    await start(service, 'quiet', 'app', [])
    await start(service, 'loud', 'app', ['--announces=all'])
    for (const era of ERAS) {
      expect(await extensionsAt(service, era, '/mcp')).toEqual({ [UI]: {} })
      expect(await extensionsAt(service, era, '/mcp/quiet')).toBeUndefined()
      // Other extensions of a server that agents share may not hold for each of them.
      expect(await extensionsAt(service, era, '/mcp/loud')).toEqual({ [UI]: { mimeTypes: ['text/html'] } })
    }
  })

  test('a subscriber to a page gets its updates with the URI that it subscribed to', async () => {
    const service = await openTestService()
    await start(service, 'one', 'app', ['--name=one'])
    await start(service, 'two', 'app', ['--name=two', '--era=modern'])
    const endpoint = { address: service.address, key: await newKey(service), path: '/mcp' }
    const agent = await LegacyAgent.open(endpoint)
    const stream = agent.listen()
    for (const server of ['one', 'two']) {
      const uri = `ui://${server}/app/view.html`
      expect((await agent.request('resources/subscribe', { uri }).responded()).result).toEqual({})
      const updated = async () => {
        await agent.call(`${server}__touch`, { uri: 'ui://app/view.html' }).responded()
        return stream.messages.filter(({ method }) => method === 'notifications/resources/updated').at(-1)
      }
      await expect.poll(updated).toMatchObject({ params: { uri } })
    }
  })
})
