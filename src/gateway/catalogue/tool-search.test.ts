import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OFFER_DEFAULTS } from '../../upstreams/server-fields.ts'
import { EVERYTHING } from '../visibility/visibility.schema.ts'
import { Offers } from './offers.ts'
import { searchIn } from './tool-search.ts'
import { resolveInSearchMode } from './tool-search-calls.ts'

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
const search = searchIn(TOOLS)
const found = (query: string, limit = 10) => search(query, limit).tools.map(({ name }) => name)

describe('a search', () => {
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
  ])('for %j finds first %s', (query, name) => {
    expect(found(query)[0]).toBe(name)
  })

  test('puts a name before words of a description, and says how many match in all', () => {
    expect(found('issue')).toEqual(['github__list_issues', 'github__create_issue', 'mail__send'])
    expect(search('issue', 1)).toMatchObject({ total: 3, tools: [{ name: 'github__list_issues' }] })
  })

  test('for nothing that there is finds nothing, and without words shows what there is', () => {
    expect(search('kubernetes', 10)).toEqual({ tools: [], total: 0 })
    expect(search('  ', 2)).toMatchObject({ total: TOOLS.length, tools: [{ name: 'files__read_file' }, {}] })
    expect(searchIn([])('anything', 10)).toEqual({ tools: [], total: 0 })
  })

  test('orders equals by name, in whatever order they came', () => {
    const equal = ['c', 'a', 'b'].map((letter) => tool(`server__do_${letter}`, 'The same'))
    const names = searchIn(equal)('do', 10).tools.map(({ name }) => name)
    expect(names).toEqual(['server__do_a', 'server__do_b', 'server__do_c'])
  })

  test('takes any text, and gives each tool once', () => {
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
        const one = searchIn([tool(parts.join('_'), 'words that say little'), ...TOOLS])
        for (const each of parts)
          expect(one(each, 50).tools.map(({ name }) => name)).toContain(parts.join('_'))
      }),
    )
  })

  test('definitions of any shape are searched without harm', () => {
    const odd = searchIn([
      { name: 'a' },
      { name: 'b', description: 7, title: {}, inputSchema: null, annotations: [] },
      { name: 'c', inputSchema: { properties: 'x' }, annotations: { title: 'Sea' } },
    ])
    expect(odd('sea', 5).tools).toMatchObject([{ name: 'c' }])
  })

  test('among a thousand tools takes a few milliseconds', () => {
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
    const ask = searchIn(many)
    ask('word1 word2', 10)
    const startedAt = performance.now()
    for (let round = 0; round < 20; round += 1) ask(`do word${round} server3`, 10)
    expect((performance.now() - startedAt) / 20).toBeLessThan(50)
  })
})

describe('a call in search mode', () => {
  const settings = OFFER_DEFAULTS
  const offered = [{ id: 'files', tools: [tool('read_file', 'Reads a file', ['path'])], settings }]
  const offers = new Offers(
    () => offered,
    (agent) => (agent === 'cursor' ? { ...EVERYTHING, tool_mode: 'search' } : undefined),
  )
  const offer = offers.of(undefined, 'cursor')
  const meant = (name: unknown, args: unknown) => offer && resolveInSearchMode(offer, name, args)
  const said = (name: string, args: unknown) => {
    const answer = meant(name, args)
    return answer?.kind === 'result' ? answer.result : answer
  }

  test('of find_tools gives what it takes to call them', () => {
    const result = said('find_tools', { query: 'read' }) as { content: { text: string }[] }
    const expected = [{ ...tool('files__read_file', 'Reads a file', ['path']) }]
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(expected)
    expect(result).toMatchObject({ structuredContent: { tools: expected, total: 1 } })
    expect(result).not.toHaveProperty('isError')
  })

  test('that finds nothing says so, and how many there are', () => {
    expect(said('find_tools', { query: 'fly' })).toEqual({
      content: [
        { type: 'text', text: "No tool matches 'fly'. There is 1 tool in total: try other or fewer words." },
      ],
      structuredContent: { tools: [], total: 0 },
    })
  })

  test('of call_tool is the call of the tool that it names', () => {
    const args = { path: '/tmp' }
    expect(meant('call_tool', { name: 'files__read_file', arguments: args })).toMatchObject({
      kind: 'call',
      found: { server_id: 'files', tool: 'read_file' },
      args,
    })
    expect(meant('call_tool', { name: 'files__read_file' })).toMatchObject({ kind: 'call', args: {} })
    expect(meant('files__read_file', args)).toMatchObject({ kind: 'call', args })
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
  ])('%s with %j is a mistake that the model is told of', (name, args) => {
    expect(said(name, args)).toMatchObject({ isError: true, content: [{ type: 'text' }] })
  })

  test('of anything else is unknown, and without search mode so are the two', () => {
    expect(meant('files__nothing', {})).toBeUndefined()
    const full = offers.of(undefined, 'codex')
    expect(full?.find('find_tools')).toBeUndefined()
  })
})
