import { describe, expect, test } from 'vitest'
import { addLibrary, agentAt, modern, openLibraries } from '../../../test/support/libraries.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { byNode } from '../../../test/support/real-servers.ts'
import { post, until } from '../../../test/support/running-servers.ts'
import { openTestService, TOKEN } from '../../../test/support/test-service.ts'

const textIn = (result: unknown) => JSON.stringify(result)

describe('the merged endpoint', () => {
  const shared = sharedByTests(openLibraries)

  test('prompts of all servers are listed with the server id, and prompts/get reaches the right server', async () => {
    const { service, agent } = await shared()
    const names = (await agent.listPrompts()).prompts.map(({ name }) => name)
    expect(names).toEqual([
      'conformance__test_simple_prompt',
      'conformance__test_prompt_with_arguments',
      'conformance__test_prompt_with_embedded_resource',
      'conformance__test_prompt_with_image',
      'conformance__test_input_required_result_prompt',
      'north__greet',
      'south__greet',
    ])
    for (const server of ['north', 'south']) {
      const params = { name: `${server}__greet`, arguments: { who: 'you' } }
      expect(textIn(await agent.getPrompt(params))).toContain(`${server} greets you`)
      expect(textIn(await modern(service, 'prompts/get', params))).toContain(`${server} greets you`)
    }
    await expect(agent.getPrompt({ name: 'greet' })).rejects.toMatchObject({ code: -32602 })
    expect(await modern(service, 'prompts/get', { name: 'north__none' })).toMatchObject({
      error: { code: -32602 },
    })
  })

  test('resources of all servers are listed, and two resources with the same URI can both be read', async () => {
    const { service, agent } = await shared()
    const uris = (await agent.listResources()).resources.map(({ uri }) => uri)
    const wrapped = 'toolroom://south/book%3A%2F%2Fshared'
    expect(uris).toEqual([
      'test://static-text',
      'test://static-binary',
      'test://watched-resource',
      'book://shared',
      'book://north/one',
      wrapped,
      'book://south/one',
    ])
    const read = async (uri: string) => (await agent.readResource({ uri })).contents
    expect(await read('book://shared')).toMatchObject([
      { uri: 'book://shared', text: 'north has book://shared' },
    ])
    expect(await read(wrapped)).toMatchObject([{ uri: wrapped, text: 'south has book://shared' }])
    expect((await modern(service, 'resources/read', { uri: wrapped })).result).toMatchObject({
      resultType: 'complete',
      cacheScope: 'private',
      contents: [{ uri: wrapped, text: 'south has book://shared' }],
    })
  })

  test('templates of all servers are listed, and an expanded template is read from its server', async () => {
    const { agent } = await shared()
    const templates = (await agent.listResourceTemplates()).resourceTemplates
    expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'test://template/{id}/data',
      'book://any/{id}',
      'book://north/pages/{page}{?size}',
      'book://south/pages/{page}{?size}',
    ])
    const read = async (uri: string) => textIn(await agent.readResource({ uri }))
    expect(await read('book://south/pages/7?size=2')).toContain('south has')
    expect(await read('book://any/7')).toContain('north has')
    expect(await read('test://template/7/data')).toContain('Data for ID: 7')
  })

  test('an unknown resource gets the error of each era', async () => {
    const { service, agent } = await shared()
    const uri = 'no://such'
    await expect(agent.readResource({ uri })).rejects.toMatchObject({ code: -32002, data: { uri } })
    expect(await modern(service, 'resources/read', { uri })).toMatchObject({
      error: { code: -32602, message: 'Resource not found', data: { uri } },
    })
    // This error comes from a legacy server and is translated.
    expect(
      await modern(service, 'resources/read', { uri: 'toolroom://south/no%3A%2F%2Fsuch' }),
    ).toMatchObject({
      error: { code: -32602, data: { uri: 'toolroom://south/no%3A%2F%2Fsuch' } },
    })
  })

  test('completions reach the server of a prompt or a template', async () => {
    const { service, agent } = await shared()
    const argument = { name: 'x', value: 'y' }
    const prompt = { type: 'ref/prompt' as const, name: 'south__greet' }
    const template = { type: 'ref/resource' as const, uri: 'book://south/pages/{page}{?size}' }
    expect(textIn(await agent.complete({ ref: prompt, argument }))).toContain('south completes greet')
    expect(textIn(await agent.complete({ ref: template, argument }))).toContain(
      'south completes book://south/pages/{page}{?size}',
    )
    expect(textIn(await modern(service, 'completion/complete', { ref: prompt, argument }))).toContain(
      'south completes greet',
    )
    for (const ref of [
      { ...prompt, name: 'none' },
      { ...template, uri: 'none://{x}' },
    ])
      await expect(agent.complete({ ref, argument })).rejects.toMatchObject({ code: -32602 })
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`m${at}`, 0]))
    for (const [ref, message] of [
      [{ ...prompt, name: 'x'.repeat(2049) }, 'ref.name is larger than 2 KiB'],
      [{ ...template, uri: 'x'.repeat(8193) }, 'ref.uri is larger than 8 KiB'],
      [{ ...prompt, ...many }, 'ref has more than 1000 members'],
    ] as const)
      expect(await modern(service, 'completion/complete', { ref, argument })).toMatchObject({
        error: { code: -32602, message },
      })
  })

  test('an agent can read a resource that a tool result mentioned, from the server that mentioned it', async () => {
    const { service, agent } = await shared()
    const hidden = 'hidden://south/x'
    await expect(agent.readResource({ uri: hidden })).rejects.toMatchObject({ code: -32002 })
    await agent.callTool({ name: 'south__link' })
    expect(textIn(await agent.readResource({ uri: hidden }))).toContain(`south has ${hidden}`)
    expect(textIn(await modern(service, 'resources/read', { uri: hidden }))).toContain(`south has ${hidden}`)
    // North lists the same URI, so the link to the resource of south is wrapped.
    const { content } = await agent.callTool({ name: 'south__link', arguments: { uri: 'book://shared' } })
    const [link] = content as { uri: string }[]
    expect(link?.uri).toBe('toolroom://south/book%3A%2F%2Fshared')
    expect(textIn(await agent.readResource({ uri: link?.uri ?? '' }))).toContain('south has book://shared')
  })

  test('/mcp merges the capabilities and instructions of all servers, and /mcp/{server_id} has those of one', async () => {
    const { service, agent } = await shared()
    const all = {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
    }
    expect(agent.getServerCapabilities()).toEqual({ ...all, logging: {} })
    expect(agent.getInstructions()).toBe('## north\nAsk the north plainly')
    expect((await modern(service, 'server/discover')).result).toMatchObject({
      capabilities: all,
      instructions: '## north\nAsk the north plainly',
    })
    const north = await agentAt(service, '/mcp/north')
    expect(north.getInstructions()).toBe('Ask the north plainly')
    expect((await north.listPrompts()).prompts.map(({ name }) => name)).toEqual(['greet'])
    const echo = await agentAt(service, '/mcp/echo')
    expect(echo.getServerCapabilities()).toEqual({ tools: { listChanged: true } })
    expect(echo.getInstructions()).toBeUndefined()
  })

  test('progress of resources/read reaches the agent', async () => {
    const { agent } = await shared()
    const steps: unknown[] = []
    await agent.readResource({ uri: 'book://north/one' }, { onprogress: (step) => void steps.push(step) })
    expect(steps).toEqual([{ progress: 1, total: 1 }])
  })

  test('servers that are hidden from an agent are neither listed nor read', async () => {
    const { service, agent } = await openLibraries()
    const headers = { 'x-svc-token': TOKEN }
    const payload = { servers: ['south'] }
    await service.inject({ method: 'PUT', url: '/api/agents/cursor/tools', headers, payload })
    expect((await agent.listPrompts()).prompts.map(({ name }) => name)).toEqual(['south__greet'])
    // No other visible server lists this URI, so it is not wrapped.
    const uris = (await agent.listResources()).resources.map(({ uri }) => uri)
    expect(uris).toEqual(['book://shared', 'book://south/one'])
    expect(textIn(await agent.readResource({ uri: 'book://shared' }))).toContain('south has')
    for (const uri of ['book://north/one', 'toolroom://north/book%3A%2F%2Fshared'])
      await expect(agent.readResource({ uri })).rejects.toMatchObject({ code: -32002 })
    await expect(agent.getPrompt({ name: 'north__greet' })).rejects.toMatchObject({ code: -32602 })
  })

  test('each merged list has one page: an empty cursor gets it, and any other cursor is refused', async () => {
    const { service, agent } = await shared()
    for (const method of ['prompts/list', 'resources/list', 'resources/templates/list']) {
      expect(await modern(service, method, { cursor: 'x' })).toMatchObject({ error: { code: -32602 } })
      const { result } = await modern(service, method)
      expect((await modern(service, method, { cursor: '' })).result).toEqual(result)
      expect(result).toMatchObject({
        resultType: 'complete',
        ttlMs: expect.any(Number),
        cacheScope: 'private',
      })
    }
    expect(await agent.listPrompts()).not.toHaveProperty('nextCursor')
  })
})

describe('failing, sleeping and deleted servers', () => {
  test.each(['--unlisted', '--stuck'])(
    'a server with %s neither breaks nor delays the lists of the others',
    async (fault) => {
      const service = await openTestService()
      await addLibrary(service, 'north')
      await addLibrary(service, 'odd', [fault], { timeouts: { start_s: 60, stop_s: 1 } })
      const agent = await agentAt(service)
      await expect
        .poll(async () => (await agent.listPrompts()).prompts.map(({ name }) => name))
        .toEqual(['north__greet', 'odd__greet'])
      await expect.poll(async () => (await agent.listResourceTemplates()).resourceTemplates).toHaveLength(3)
      await expect.poll(async () => (await agent.listResources()).resources).toHaveLength(2)
      expect(textIn(await agent.readResource({ uri: 'book://odd/pages/1' }))).toContain('odd has')
    },
  )

  test('a sleeping server is still listed after a restart of Toolroom, and a request wakes it', async () => {
    const first = await openTestService()
    await addLibrary(first, 'north', [], { start_mode: 'on_demand' })
    const before = await agentAt(first)
    await expect.poll(async () => (await before.listPrompts()).prompts).toHaveLength(1)
    await expect.poll(async () => (await before.listResources()).resources).toHaveLength(2)
    await first.close()

    const service = await openTestService({ home: first.home })
    await until(service, 'north', ({ status }) => status === 'idle')
    const agent = await agentAt(service)
    expect((await agent.listResources()).resources).toHaveLength(2)
    expect((await agent.listPrompts()).prompts.map(({ name }) => name)).toEqual(['north__greet'])
    expect(textIn(await agent.readResource({ uri: 'book://north/one' }))).toContain('north has')
    await until(service, 'north', ({ status }) => status === 'running')
  })

  test('a deleted server is no longer listed', async () => {
    const service = await openTestService()
    await addLibrary(service, 'north')
    const agent = await agentAt(service)
    await expect.poll(async () => (await agent.listPrompts()).prompts).toHaveLength(1)
    await post(service, '/api/servers/north/stop')
    await service.inject({ method: 'DELETE', url: '/api/servers/north', headers: { 'x-svc-token': TOKEN } })
    expect((await agent.listPrompts()).prompts).toEqual([])
    await expect(agent.readResource({ uri: 'book://north/one' })).rejects.toMatchObject({ code: -32002 })
  })
})

test('server-everything gives the same results at /mcp as at its own endpoint', async () => {
  const service = await openTestService()
  await addLibrary(service, 'north')
  await post(service, '/api/servers', { name: 'everything', ...byNode('everything') })
  await post(service, '/api/servers/everything/start')
  const [agent, alone] = [await agentAt(service), await agentAt(service, '/mcp/everything')]
  const own = async () => (await alone.listResources()).resources
  const among = async () =>
    (await agent.listResources()).resources.filter(({ uri }) => !uri.startsWith('book://'))
  await expect.poll(among).toEqual(await own())
  const [first] = await own()
  const uris = [first?.uri ?? '', 'demo://resource/dynamic/text/1']
  for (const uri of uris) {
    const [ours, theirs] = [await agent.readResource({ uri }), await alone.readResource({ uri })]
    expect(untimed(ours)).toEqual(untimed(theirs))
  }
  const prompt = 'completable-prompt'
  const argument = { name: 'department', value: 'E' }
  expect(
    await agent.complete({ ref: { type: 'ref/prompt', name: `everything__${prompt}` }, argument }),
  ).toEqual(await alone.complete({ ref: { type: 'ref/prompt', name: prompt }, argument }))
  expect(await agent.getPrompt({ name: 'everything__simple-prompt' })).toEqual(
    await alone.getPrompt({ name: 'simple-prompt' }),
  )
  const links = { name: 'everything__get-resource-links', arguments: { count: 2 } }
  const { content } = await agent.callTool(links)
  for (const { type, uri } of content as { type: string; uri: string }[])
    if (type === 'resource_link') expect((await agent.readResource({ uri })).contents).toHaveLength(1)
})

/** Without the times that differ in each result. */
const untimed = (result: unknown) => JSON.stringify(result).replace(/\d+:\d+:\d+(?: [AP]M)?/g, '')
