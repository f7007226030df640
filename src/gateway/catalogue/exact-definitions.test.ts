import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { Agent, type Era, META, newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'

const ERAS: readonly Era[] = ['legacy', 'modern']
const METHODS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']

/** Numbers that JSON.parse would change, escapes, and the order and the spaces of the server. */
const ODD = '"z":18446744073709551615, "n":[1.0,-0,1e400,1E2],"t":"\\u0061\\u00e9é","a": {"b":0.10}'
const TOOL = `{"description":"first", "name":"big","inputSchema":{"type":"object","properties":{"n":{"maximum":18446744073709551615}}},${ODD}}`
const PROMPT = `{"name":"ask", ${ODD}}`
const RESOURCE = `{"uri":"raw:///one","name":"one",${ODD}}`
const TEMPLATE = `{"uriTemplate":"raw:///{id}","name":"any",${ODD}}`

/** A server whose lists are these texts. */
function written() {
  const file = join(ownFolder(), 'lists.json')
  const write = ({ tool = TOOL, prompt = PROMPT, resource = RESOURCE, template = TEMPLATE } = {}) => {
    const texts = [
      `{"tools":[ ${tool} ]}`,
      `{"prompts":[${prompt}]}`,
      `{"resources":[${resource}]}`,
      `{"resourceTemplates":[${template}]}`,
    ]
    writeFileSync(file, JSON.stringify(Object.fromEntries(METHODS.map((method, at) => [method, texts[at]]))))
  }
  write()
  const open = async (env: Record<string, string> = {}, more: object = {}, name = 'raw') => {
    const service = await openTestService({ env })
    await register(service, 'raw', [`--file=${file}`], { name, ...more })
    expect((await post(service, `/api/servers/${name}/start`)).statusCode).toBe(200)
    return { service, key: await newKey(service) }
  }
  return { write, open }
}

/** The text of the response. */
async function ask(
  service: TestService,
  key: string,
  era: Era,
  path: string,
  method: string,
  more = '',
): Promise<string> {
  const agent = await Agent.open(service, key, era, path)
  const meta = era === 'modern' ? `"_meta":${JSON.stringify(META)}` : ''
  const params = `{${[more, meta].filter(Boolean).join()}}`
  const reply = await agent.send(
    `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`,
    method,
    'find_tools',
  )
  return reply.text()
}

/** The prompts and resources of a server are listed a moment after its tools. */
const listed = async (service: TestService, key: string) =>
  expect
    .poll(() => ask(service, key, 'modern', '/mcp', 'resources/templates/list'), { timeout: 20_000 })
    .toContain('uriTemplate')

const ownNames = { tool: TOOL, prompt: PROMPT }
const ourNames = { tool: TOOL.replace('"big"', '"raw__big"'), prompt: PROMPT.replace('"ask"', '"raw__ask"') }

async function expectExact(service: TestService, key: string): Promise<void> {
  for (const era of ERAS)
    for (const [path, { tool, prompt }] of [
      ['/mcp', ourNames],
      ['/mcp/raw', ownNames],
    ] as const) {
      const texts = [tool, prompt, RESOURCE, TEMPLATE]
      for (const [at, method] of METHODS.entries())
        expect(await ask(service, key, era, path, method), `${era} ${path} ${method}`).toContain(
          `[${texts[at]}]`,
        )
    }
}

test('definitions of tools, prompts, resources and templates are listed as the server wrote them, at both paths, in both eras and after a restart of Toolroom (bytes are bytes)', async () => {
  const { open } = written()
  const { service, key } = await open({ HOLD_CHANGED_TOOLS: 'true' }, { start_mode: 'on_demand' })
  await listed(service, key)
  await expectExact(service, key)
  await service.close()
  const again = await openTestService({ home: service.home, env: { HOLD_CHANGED_TOOLS: 'true' } })
  for (const era of ERAS)
    for (const [at, method] of METHODS.entries()) {
      const texts = [ourNames.tool, ourNames.prompt, RESOURCE, TEMPLATE]
      expect(await ask(again, key, era, '/mcp', method), method).toContain(`[${texts[at]}]`)
    }
  expect((await again.inject('/api/servers/raw')).json()).toMatchObject({ status: 'idle' })
})

test('of a tool with a page, of a page and of a template of pages only the URI is replaced at /mcp (bytes are bytes)', async () => {
  const { open, write } = written()
  const page = (uri: string) =>
    `{ "n":1.0,"ui": {"visibility":["model"], "resourceUri":"${uri}","x":1e2},"ui/resourceUri":"${uri}"}`
  const texts = (uri: string) => ({
    tool: `{"name":"big", "_meta":${page(uri)},${ODD},"inputSchema":{"type":"object"}}`,
    resource: `{"uri":"${uri}", "name":"one",${ODD}}`,
    template: `{"uriTemplate":"${uri}/{id}","name":"any",${ODD}}`,
  })
  write({ ...texts('ui://a/b.html'), prompt: PROMPT })
  const { service, key } = await open()
  await listed(service, key)
  const { tool, resource, template } = texts('ui://raw/a/b.html')
  for (const era of ERAS) {
    const list = (kind: string, path = '/mcp') => ask(service, key, era, path, `${kind}/list`)
    expect(await list('tools')).toContain(`[${tool.replace('"big"', '"raw__big"')}]`)
    expect(await list('resources')).toContain(`[${resource}]`)
    expect(await list('resources/templates')).toContain(`[${template}]`)
    expect(await list('tools', '/mcp/raw')).toContain(`[${texts('ui://a/b.html').tool}]`)
  }
})

test.each(ERAS)(
  'find_tools shows a %s agent the schema as the server wrote it (bytes are bytes)',
  async (era) => {
    const { open } = written()
    const { service, key } = await open()
    const payload = { tool_mode: 'search' }
    await service.inject({ method: 'PUT', url: '/api/agents/cursor/tools', headers: AUTHORISED, payload })
    const query = '"name":"find_tools","arguments":{"query":"big"}'
    const text = await ask(service, key, era, '/mcp', 'tools/call', query)
    const schema = '{"type":"object","properties":{"n":{"maximum":18446744073709551615}}}'
    const shown = `{"name":"raw__big","description":"first","inputSchema":${schema}}`
    expect(text).toContain(`"structuredContent":{"tools":[${shown}],"total":1}`)
    expect(text).toContain(`"text":${JSON.stringify(`[${shown}]`)}`)
  },
)

test('a tool that was approved by a version that did not keep its digits is not held, and agents get the digits (pins)', async () => {
  const { open, write } = written()
  const rounded = JSON.stringify(JSON.parse(TOOL)) // what that version stored
  write({ tool: rounded, prompt: JSON.stringify(JSON.parse(PROMPT)) })
  const { service, key } = await open({ HOLD_CHANGED_TOOLS: 'true' }, { start_mode: 'on_demand' })
  await listed(service, key)
  expect(await ask(service, key, 'legacy', '/mcp/raw', 'tools/list')).toContain(rounded)
  write()
  await post(service, '/api/servers/raw/restart')
  await expect.poll(() => ask(service, key, 'legacy', '/mcp/raw', 'tools/list')).toContain(TOOL)
  await expect.poll(() => ask(service, key, 'legacy', '/mcp', 'prompts/list')).toContain(ourNames.prompt)
  const { items } = (await service.inject('/api/servers/raw/tools')).json<{ items: { state: string }[] }>()
  expect(items.map(({ state }) => state)).toEqual(['ok'])
})

test('a key that occurs twice in a definition is listed once, so that agents read what was compared with the pin (pins)', async () => {
  const { open, write } = written()
  write({
    tool: '{"name":"big","description":"evil","description":"good","n":1.0,"inputSchema":{"type":"object"}}',
  })
  const { service, key } = await open()
  const text = await ask(service, key, 'legacy', '/mcp/raw', 'tools/list')
  expect(text).toContain('[{"name":"big","description":"good","n":1,"inputSchema":{"type":"object"}}]')
})

test.each([
  ['as a number of 20 digits', '98765432109876543210', '98765432109876543210'],
  ['with escapes', 'sk-abcdefgh12345678', '"\\u0073k-abcdefgh12345678"'],
])('a secret that a definition repeats %s is masked (R8)', async (_, secret, spelled) => {
  const { open, write } = written()
  write({ tool: `{"name":"big","x":1.0,"leak":${spelled},"inputSchema":{"type":"object"}}` })
  const { service, key } = await open({}, { env: { API_TOKEN: secret } })
  for (const path of ['/mcp', '/mcp/raw']) {
    const text = await ask(service, key, 'legacy', path, 'tools/list')
    expect(text).toContain('"leak"')
    expect(text).not.toContain(spelled)
    expect(text).not.toContain(secret)
  }
})
