import { describe, expect, test } from 'vitest'
import { computer } from '../../../test/support/test-computer.ts'
import { problemIn } from '../../kernel/validate.ts'
import { Agent, SYSTEMS } from './catalogue.schema.ts'
import { AGENTS, findAgent } from './catalogue.ts'
import { detect } from './detect.ts'
import { checkName, keyOf } from './entry-name.ts'
import { shapeOf, TRANSPORTS } from './entry-template.ts'

describe.each(AGENTS.map((agent) => [agent.type, agent] as const))('%s', (_, agent) => {
  test('fits the schema', () => {
    expect(problemIn(Agent, agent)).toBeUndefined()
  })

  test('says the word of each transport that it writes', () => {
    for (const name of TRANSPORTS) {
      const transport = agent[name]
      if (!transport) continue
      const written = agent.typeField === null ? undefined : transport.entry[agent.typeField]
      expect(written === undefined || written === transport.types[0]).toBe(true)
      expect(transport.untyped || written !== undefined).toBe(true)
      const { holes } = shapeOf(name, transport)
      expect(holes.has('url') || holes.has('command') || holes.has('command+args')).toBe(true)
      expect([...transport.required, ...transport.always].every((field) => field in transport.entry)).toBe(
        true,
      )
    }
  })

  test('knows the order of its scopes, and has a file on some system', () => {
    expect(agent.precedence.toSorted()).toEqual(agent.scopes.map(({ scope }) => scope).toSorted())
    for (const { paths } of agent.scopes) expect(SYSTEMS.some((os) => paths[os].length > 0)).toBe(true)
    expect(agent.container === 'list').toBe(agent.nameField !== null)
  })
})

test('strict files stay strict', () => {
  const strict = ['claude-code', 'claude-desktop', 'cline', 'factory-droid', 'crush', 'warp']
  for (const type of strict) {
    expect(findAgent(type)?.dialect).toMatchObject({ comments: false, trailingCommas: false })
  }
  expect(findAgent('gemini-cli')?.dialect).toEqual({ comments: true, trailingCommas: false, bom: false })
})

test.each([
  ['windsurf', 'devin-desktop'],
  ['claude', 'claude-desktop'],
  ['copilot', 'github-copilot-cli'],
  ['gemini', 'gemini-cli'],
  ['kiro-cli', 'kiro'],
  ['roo', 'roo-code'],
  ['Cursor', 'cursor'],
  ['emacs', undefined],
  ['constructor', undefined],
])('%s finds %s', (name, type) => {
  expect(findAgent(name)?.type).toBe(type)
})

test('no two agents share a name', () => {
  const names = AGENTS.flatMap(({ type, aliases }) => [type, ...aliases])
  expect(names).toEqual([...new Set(names)])
})

describe('an agent is found', () => {
  const look = (type: string, facts: Parameters<typeof computer>[0]) => {
    const agent = findAgent(type)
    return agent && detect(agent, computer(facts))
  }

  test('by its program on the PATH', () => {
    const env = { PATH: '/usr/bin::relative:/opt/bin' }
    const files = ['/opt/bin/codex', '/home/ada/.codex/config.toml']
    expect(look('codex', { os: 'linux', env, files })).toEqual({ installed: true, by: '/opt/bin/codex' })
  })

  test('by its program on the Path of Windows, with an ending', () => {
    const env = { Path: 'C:\\Windows;"D:\\my tools"' }
    const files = ['D:\\my tools\\codex.cmd']
    expect(look('codex', { os: 'win32', env, files })).toEqual({
      installed: true,
      by: 'D:\\my tools\\codex.cmd',
    })
  })

  test('by its app on macOS', () => {
    const files = ['/Applications/Claude.app/Contents/Info.plist']
    expect(look('claude-desktop', { os: 'darwin', files })?.by).toBe('/Applications/Claude.app')
    expect(look('claude-desktop', { os: 'linux', files })?.installed).toBe(false)
  })

  test('by its folder, also one that a star stands for', () => {
    const files = ['C:\\Users\\ada\\AppData\\Local\\Packages\\Claude_x\\a']
    expect(look('claude-desktop', { os: 'win32', files })?.by).toBe(files[0]?.slice(0, -2))
    expect(look('cursor', { os: 'linux', files: ['/home/ada/.cursor/x'] })?.by).toBe('/home/ada/.cursor')
  })

  test('not by a folder that it shares with another', () => {
    const files = ['/home/ada/.gemini/config/mcp_config.json']
    expect(look('gemini-cli', { os: 'linux', files })).toEqual({ installed: false, by: null })
    expect(look('antigravity', { os: 'linux', files })?.installed).toBe(true)
  })
})

describe('a name', () => {
  const check = (type: string, name: string) => {
    const agent = findAgent(type)
    if (!agent) throw new Error(type)
    return checkName(agent, name)
  }

  test.each([
    '',
    '__proto__',
    'constructor',
    'prototype',
    'a\nb',
    'a\u0000',
    '\u009b1m',
    'x'.repeat(129),
    '\ud800',
  ])('%j is refused by every agent', (name) => {
    for (const agent of AGENTS) expect(checkName(agent, name)).toMatch(/^[A-Z'].*\w$/)
  })

  test.each(['docs', 'My Server', 'a.b/c@d', 'Ünï', 'x'.repeat(128)])(
    '%j is taken by every agent',
    (name) => {
      for (const agent of AGENTS) expect(checkName(agent, name)).toBeNull()
    },
  )

  test('that means something else to one agent is refused there', () => {
    expect(check('opencode', 'servers')).toContain("'servers' means something else")
    expect(check('cursor', 'servers')).toBeNull()
    expect(check('goose', ' ')).toContain('must not be empty')
    expect(check('goose', 'Con structor')).toContain('choose another')
  })

  test('is written as the agent keeps it', () => {
    expect(
      AGENTS.filter((agent) => keyOf(agent, 'My Server') !== 'My Server').map(({ type }) => type),
    ).toEqual(['goose'])
  })
})
