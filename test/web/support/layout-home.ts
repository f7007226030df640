import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { writeDashboardHome } from '../../support/dashboard-home.ts'
import { ownFolder } from '../../support/folder.ts'
import { runs } from '../../support/full-or-short.ts'
import { Agent, toolsIn } from '../../support/gateway.ts'
import { atEnd } from '../../support/lifetime.ts'
import { npmEnv } from '../../support/registry/npm-env.ts'
import { openRegistry, type TestPackage, toolPackage } from '../../support/registry/registry.ts'
import { openService } from '../../support/service-process.ts'

/** The homes in which the layout is measured: without a row, with one, with very many, and with very long names. */
export const HOMES = ['none', 'one', 'many', 'long'] as const
export type HomeKind = (typeof HOMES)[number]

const ROWS = 500
/** With long names, a few rows show as much as many. */
const LONG_ROWS = runs(12, ROWS)
const CALLS = runs(24, ROWS)
/** As long as a name may be. */
const LONG = 'The server with the longest name that anybody could think of.123'
const LONG_FOLDER = 'a-person-with-a-remarkably-long-name/and-a-folder-with-an-even-longer-name-inside-of-it'
const LONG_TOOL = 'retrieve_all_of_the_documents_that_match_a_query_and_their_attachments'
const SENTENCE =
  'Returns whatever was asked for, with all of its properties, in the order in which they were written. '

/** What every page and dialog needs to have something to show: the ids of a server that fails and of one that runs. */
export interface LayoutHome {
  readonly kind: HomeKind
  readonly address: string
  readonly loginCode: () => Promise<string>
  readonly running: string
  readonly failing: string
  /** It refers to a named secret that is not there. Empty without rows. */
  readonly secretless: string
  readonly tool: string
}

/** The name of a preset. */
export const PRESET = 'first-ones'

export async function openLayoutHome(kind: HomeKind): Promise<LayoutHome> {
  const isLong = kind === 'long'
  const folder = ownFolder()
  const home = isLong ? join(folder, LONG_FOLDER) : folder
  mkdirSync(home, { recursive: true })
  const hasRows = kind === 'many' || isLong
  const { stdio, http } = hasRows ? await writeDashboardHome(home) : { stdio: [], http: [] }
  if (kind === 'one') await writeOne(home)
  const tools = join(home, 'tools.json')
  writeFileSync(tools, JSON.stringify(listsOf(isLong ? LONG_TOOL : 'echo')))
  const registry = hasRows ? await openRegistry(packagesOf(isLong)) : undefined
  if (registry) atEnd(() => registry.close())
  const service = await openService({ home, ...(registry && { env: npmEnv(home, registry.url) }) })
  const nameOf = (name: string) => (isLong ? `${name} ${LONG}`.slice(0, 64).trim() : name)
  const ids = new Map<string, string>()
  const did = async (method: string, path: string, body?: object) => {
    const reply = await service.ask(method, path, body)
    expect(reply.status, `${method} ${path}: ${JSON.stringify(reply.body)}`).toBeLessThan(300)
    return reply.body
  }
  const raw = { command: process.execPath, args: [fixture('raw'), `--file=${tools}`] }
  if (kind === 'one' || hasRows) {
    const env = {
      NOTES_TOKEN: 'a-value-of-a-variable',
      [isLong ? 'A_VARIABLE_WITH_A_VERY_LONG_NAME_THAT_SOMEBODY_CHOSE' : 'MODE']: 'x',
    }
    ids.set('raw', (await service.add({ name: nameOf('raw'), ...raw, env })).id)
    await service.start(ids.get('raw') ?? '')
  }
  if (hasRows) {
    for (const { name, ...rest } of stdio)
      ids.set(name, (await service.add({ name: nameOf(name), ...rest })).id)
    for (const { name, url } of http)
      ids.set(name, (await did('POST', '/http-servers', { name: nameOf(name), url })).id)
    const env = {
      TOKEN: `$\{secret:${isLong ? 'A_NAMED_SECRET_THAT_NOBODY_HAS_SET_UNTIL_NOW' : 'UNSET'}}`,
    }
    ids.set('secretless', (await service.add({ name: nameOf('secretless'), ...raw, env })).id)
    const mcpServers = Object.fromEntries(
      Array.from({ length: isLong ? LONG_ROWS : ROWS }, (_, at) => [
        nameOf(`server-${at}`),
        { command: raw.command, args: [...raw.args, `--as=${at}`] },
      ]),
    )
    await did('POST', '/servers/import', { mcpServers })
    // Its tools are others at its second start.
    for (const action of ['start', 'restart'])
      await service.ask('POST', `/servers/${ids.get('mutate')}/${action}?wait_s=10`)
    await Promise.all(
      ['crash', 'noenv', 'noisy', 'echo', 'secretless'].map((name) =>
        service.ask('POST', `/servers/${ids.get(name)}/start?wait_s=1`),
      ),
    )
    await Promise.all(
      ['h200', 'h401'].map((name) => service.ask('POST', `/http-servers/${ids.get(name)}/test`)),
    )
    for (let at = 0; at < 3; at += 1) {
      await did('POST', '/keys', {
        agent_type: 'claude-code',
        name: isLong ? `${at} ${SENTENCE}`.slice(0, 100) : `key ${at}`,
      })
      await did(
        'PUT',
        `/secrets/${isLong ? `${at}_A_NAMED_SECRET_THAT_HAS_A_NAME_OF_MANY_LETTERS` : `NAMED_${at}`}`.replace(
          '/secrets/',
          '/secrets/S',
        ),
        { value: 'v' },
      )
    }
    await connected(service, home, [...ids.values()])
    await did('PUT', `/presets/${PRESET}`, { servers: [...ids.values()].slice(2, 7), tools: {} })
    changeEntries(join(home, '.cursor', 'mcp.json'))
  }
  if (kind === 'one')
    await service.ask('POST', `/servers/${ids.get('raw')}/tools/echo/call`, { arguments: {} })
  return {
    kind,
    address: service.address,
    loginCode: async () => (await did('POST', '/login-codes')).code,
    running: ids.get('raw') ?? '',
    failing: ids.get('crash') ?? ids.get('raw') ?? '',
    secretless: ids.get('secretless') ?? '',
    tool: isLong ? LONG_TOOL : 'echo',
  }
}

/** Entries in the file of every agent, one agent at the gateway, and its calls. */
async function connected(
  service: Awaited<ReturnType<typeof openService>>,
  home: string,
  ids: readonly string[],
) {
  const { items } = (await service.ask('GET', '/agents')).body as { items: readonly Found[] }
  const withFile = items.filter(({ scopes }) =>
    scopes.some(({ scope, parse_error }) => scope === 'user' && parse_error === null),
  )
  for (const { agent_type, scopes } of withFile.slice(0, 14)) {
    for (const { path } of scopes.filter(({ scope }) => scope === 'user'))
      mkdirSync(dirname(path), { recursive: true })
    await service.ask('PUT', `/agents/${agent_type}/servers`, { server_ids: ids.slice(0, 6) })
  }
  await service.ask('POST', '/agents/claude-code/connect', { take_over: true })
  await service.ask('PUT', '/agents/claude-code/tools', { servers: [...ids.slice(0, 4)] })
  const key = /tk_[\w-]+/.exec(readFileSync(join(home, '.claude.json'), 'utf8'))?.[0] ?? ''
  const agent = await Agent.open(service, key, 'legacy')
  const names = (toolsIn((await agent.ask('tools/list')).answers[0]) ?? []).slice(0, 4)
  for (let at = 0; at < CALLS; at += 1)
    await agent.call(names[at % names.length] ?? 'none', { text: 'x'.repeat(at) })
}

/** Another program changes what Toolroom wrote. */
function changeEntries(path: string): void {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replaceAll('"args": [', '"args": [\n "--an-argument-of-another-program",'))
}

interface Found {
  readonly agent_type: string
  readonly scopes: readonly { readonly scope: string; readonly path: string; readonly parse_error: unknown }[]
}

/** What a search for `tool` finds. */
const packagesOf = (isLong: boolean): TestPackage[] =>
  ['a', 'b', 'c'].map((name) =>
    toolPackage(
      isLong ? `@a-scope-with-a-long-name/tool-${name}-${LONG_TOOL.slice(0, 40)}` : `tool-${name}`,
      '1.0.0',
      {
        manifest: { description: SENTENCE.repeat(isLong ? 3 : 1), license: 'MIT', keywords: ['mcp', 'tool'] },
        publisher: 'northfield',
        downloadsWeekly: 12_345,
        postinstall: name === 'c',
      },
    ),
  )

async function writeOne(home: string): Promise<void> {
  const path = join(home, '.cursor', 'mcp.json')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(
    path,
    JSON.stringify({ mcpServers: { echo: { command: process.execPath, args: [fixture('dozen')] } } }),
  )
}

/** What the fixture `raw` answers, as text. */
const listsOf = (name: string) => ({
  'tools/list': JSON.stringify({ tools: toolsOf(name) }),
  'prompts/list': '{"prompts":[]}',
  'resources/list': '{"resources":[]}',
  'resources/templates/list': '{"resourceTemplates":[]}',
})

const toolsOf = (name: string) =>
  [name, `${name}_again`, `${name}_ask`].map((each) => ({
    name: each,
    description: SENTENCE.repeat(each.length > 20 ? 4 : 1),
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', description: SENTENCE },
        [`${each}_limit`]: { type: 'integer' },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['text'],
    },
  }))

const fixture = (name: string): string => join(import.meta.dirname, '../../fixtures/servers', `${name}.mjs`)
