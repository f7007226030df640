import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import { textOf } from '../../mcp/protocol/raw-json.ts'
import { OFFER_DEFAULTS } from '../../servers/shared/tool-settings.ts'
import { AgentToolLists } from './agent-tool-lists.ts'
import { resolveInSearchMode, unknownInSearchMode } from './search-mode-call.ts'
import { indexTools } from './tool-search-index.ts'
import { DEFAULT_AGENT_TOOLS } from './visibility.schema.ts'

const tool = (name: string, description = '', parameters: readonly string[] = [], more: object = {}) => ({
  name,
  description,
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(parameters.map((each) => [each, { type: 'string' }])),
  },
  ...more,
})

const TOOLS = [
  tool('github__create_issue', 'Opens a new issue in a repository', ['owner', 'repo', 'title']),
  tool('github__list_issues', 'Lists the issues of a repository', ['owner', 'repo']),
  tool('github__create_pull_request', 'Opens a pull request', ['owner', 'repo', 'base']),
  tool('files__read_file', 'Reads a file from the disk', ['path']),
  tool('files__writeFile', 'Writes text to a place on the disk', ['path', 'content']),
  tool('mail__send', 'Sends a message; it can create an issue, too', ['to'], { title: 'Send e-mail' }),
  tool('wetter__vorhersage', 'Sagt das Wetter für eine Stadt voraus: Übermorgen auch', ['stadt']),
]
const search = indexTools(TOOLS)
const found = (query: string, limit = 10) => search(query, limit).tools.map(({ name }) => name)

describe('the search index', () => {
  test.each([
    ['create issue', 'github__create_issue'],
    ['CREATE ISSUES', 'github__create_issue'],
    ['listIssue', 'github__list_issues'],
    ['pull', 'github__create_pull_request'],
    ['read', 'files__read_file'],
    ['write a file', 'files__writeFile'],
    ['writefile', 'files__writeFile'],
    ['email', 'mail__send'],
    ['e-mail', 'mail__send'],
    ['content', 'files__writeFile'],
    ['repos', 'github__list_issues'],
    ['übermorgen', 'wetter__vorhersage'],
    ['vorher', 'wetter__vorhersage'],
    ['github__list_issues', 'github__list_issues'],
  ])('a search for %j ranks %s first', (query, name) => {
    expect(found(query)[0]).toBe(name)
  })

  test('a match in a name ranks above a match in a description, and all matches are counted', () => {
    expect(found('issue')).toEqual(['github__list_issues', 'github__create_issue', 'mail__send'])
    expect(search('issue', 1)).toMatchObject({ total: 3, tools: [{ name: 'github__list_issues' }] })
  })

  test('a search without matches finds nothing, and an empty query matches all tools', () => {
    expect(search('kubernetes', 10)).toEqual({ tools: [], total: 0 })
    expect(search('  ', 2)).toMatchObject({ total: TOOLS.length, tools: [{ name: 'files__read_file' }, {}] })
    expect(indexTools([])('anything', 10)).toEqual({ tools: [], total: 0 })
  })

  test('tools with equal scores are ordered by name', () => {
    const equal = ['c', 'a', 'b'].map((letter) => tool(`server__do_${letter}`, 'The same'))
    const names = indexTools(equal)('do', 10).tools.map(({ name }) => name)
    expect(names).toEqual(['server__do_a', 'server__do_b', 'server__do_c'])
  })

  test('any query returns each matching tool once', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.integer({ min: 1, max: 50 }),
        (query, limit) => {
          const { tools, total } = search(query, limit)
          expect(tools.length).toBe(Math.min(limit, total))
          expect(new Set(tools).size).toBe(tools.length)
        },
      ),
    )
  })

  test('a tool is found by each part of its name', () => {
    const part = fc.stringMatching(/^[a-z]{2,12}$/)
    fc.assert(
      fc.property(fc.uniqueArray(part, { minLength: 2, maxLength: 6 }), (parts) => {
        const one = indexTools([tool(parts.join('_'), 'some other words'), ...TOOLS])
        for (const each of parts)
          expect(one(each, 50).tools.map(({ name }) => name)).toContain(parts.join('_'))
      }),
    )
  })

  test('definitions with unexpected types are indexed without errors', () => {
    const odd = indexTools([
      { name: 'a' },
      { name: 'b', description: 7, title: {}, inputSchema: null, annotations: [] },
      { name: 'c', inputSchema: { properties: 'x' }, annotations: { title: 'Sea' } },
    ])
    expect(odd('sea', 5).tools).toMatchObject([{ name: 'c' }])
  })

  test('a search in 1000 tools takes less than 50 ms', () => {
    const words = Array.from({ length: 400 }, (_, index) => `word${(index * 7919) % 1000}`)
    const many = Array.from({ length: 1000 }, (_, index) => {
      const at = (index * 37) % 300
      const parameters = words.slice(at, at + 8)
      return tool(
        `server${index % 40}__do_${words[index % 400]}_${index}`,
        words.slice(at, at + 60).join(' '),
        parameters,
      )
    })
    const searchMany = indexTools(many)
    searchMany('word1 word2', 10)
    const spent = stopwatch()
    for (let round = 0; round < 20; round += 1) searchMany(`do word${round} server3`, 10)
    expect(spent() / 20).toBeLessThan(50)
  })
})

describe('calls in search mode', () => {
  const settings = OFFER_DEFAULTS
  const servers = [{ id: 'files', tools: [tool('read_file', 'Reads a file', ['path'])], settings }]
  const toolLists = new AgentToolLists(
    () => servers,
    (agent) => (agent === 'cursor' ? { ...DEFAULT_AGENT_TOOLS, tool_mode: 'search' } : undefined),
  )
  const list = toolLists.of(undefined, 'cursor')
  const resolved = (name: unknown, args: unknown) =>
    list && (resolveInSearchMode(list, name, args) ?? unknownInSearchMode(list, name, args))
  const resultOf = (name: string, args: unknown) => {
    const call = resolved(name, args)
    return call?.kind === 'result' ? JSON.parse(textOf(call.result)) : call
  }

  test('find_tools returns the name, description and input schema of each match', () => {
    const result = resultOf('find_tools', { query: 'read' }) as { content: { text: string }[] }
    const expected = [{ ...tool('files__read_file', 'Reads a file', ['path']) }]
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(expected)
    expect(result).toMatchObject({ structuredContent: { tools: expected, total: 1 } })
    expect(result).not.toHaveProperty('isError')
  })

  test('find_tools without a match returns a hint with the number of tools', () => {
    expect(resultOf('find_tools', { query: 'fly' })).toEqual({
      content: [
        { type: 'text', text: "No tool matches 'fly'. There is 1 tool in total: try other or fewer words." },
      ],
      structuredContent: { tools: [], total: 0 },
    })
  })

  test('call_tool is resolved to the tool that it names', () => {
    const args = { path: '/tmp' }
    expect(resolved('call_tool', { name: 'files__read_file', arguments: args })).toMatchObject({
      kind: 'call',
      found: { server_id: 'files', tool: 'read_file' },
      args,
    })
    expect(resolved('call_tool', { name: 'files__read_file' })).toMatchObject({ kind: 'call', args: {} })
    expect(resolved('files__read_file', args)).toMatchObject({ kind: 'call', args })
  })

  test.each([
    ['find_tools', {}],
    ['find_tools', { query: 7 }],
    ['find_tools', { query: 'x'.repeat(1001) }],
    ['find_tools', { query: 'x', limit: 0 }],
    ['find_tools', { query: 'x', limit: 51 }],
    ['find_tools', { query: 'x', limit: 1.5 }],
    ['call_tool', {}],
    ['call_tool', { name: 'read_file' }],
    ['call_tool', { name: 'constructor' }],
    ['call_tool', { name: 'call_tool', arguments: { name: 'files__read_file' } }],
    ['call_tool', { name: 'files__read_file', arguments: [] }],
  ])('%s with the arguments %j returns a tool error', (name, args) => {
    expect(resultOf(name, args)).toMatchObject({ isError: true, content: [{ type: 'text' }] })
  })

  test('an unknown tool is not resolved, and without search mode neither is find_tools', () => {
    expect(resolved('files__nothing', {})).toBeUndefined()
    const full = toolLists.of(undefined, 'codex')
    expect(full && resolveInSearchMode(full, 'find_tools', { query: 'read' })).toBeUndefined()
  })
})
