import { describe, expect, test } from 'vitest'
import { computer } from '../../../test/support/test-computer.ts'
import { problemIn } from '../../kernel/validate.ts'
import { AGENTS, detect, findAgent } from './agent-catalogue.ts'
import { Agent, SYSTEMS } from './agent-record.ts'
import { checkName, keyOf, placeholdersIn, TRANSPORTS } from './write-entry.ts'

describe.each(AGENTS.map((agent) => [agent.type, agent] as const))('%s', (_, agent) => {
  test('the catalogue entry matches the schema', () => {
    expect(problemIn(Agent, agent)).toBeUndefined()
  })

  test('each transport writes its own type and has a command or a URL', () => {
    for (const name of TRANSPORTS) {
      const transport = agent[name]
      if (!transport) continue
      const written = agent.typeField === null ? undefined : transport.entry[agent.typeField]
      expect(written === undefined || written === transport.types[0]).toBe(true)
      expect(transport.untyped || written !== undefined).toBe(true)
      const placeholders = placeholdersIn(transport)
      const required = (['url', 'command', 'command+args'] as const).some((each) => placeholders.has(each))
      expect(required).toBe(true)
      expect([...transport.required, ...transport.always].every((field) => field in transport.entry)).toBe(
        true,
      )
    }
  })

  test('the precedence lists every scope, and every scope has a file on some system', () => {
    expect(agent.precedence.toSorted()).toEqual(agent.scopes.map(({ scope }) => scope).toSorted())
    for (const { paths } of agent.scopes) expect(SYSTEMS.some((os) => paths[os].length > 0)).toBe(true)
    expect(agent.container === 'list').toBe(agent.nameField !== null)
  })
})

test('agents that read only strict JSON are marked as such', () => {
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
])('the name %s finds the agent %s', (name, type) => {
  expect(findAgent(name)?.type).toBe(type)
})

test('no two agents have the same name or alias', () => {
  const names = AGENTS.flatMap(({ type, aliases }) => [type, ...aliases])
  expect(names).toEqual([...new Set(names)])
})

describe('detection', () => {
  const look = (type: string, facts: Parameters<typeof computer>[0]) => {
    const agent = findAgent(type)
    return agent && detect(agent, computer(facts))
  }

  test('an agent is detected by its program on the PATH', () => {
    const env = { PATH: '/usr/bin::relative:/opt/bin' }
    const files = ['/opt/bin/codex', '/home/ada/.codex/config.toml']
    expect(look('codex', { os: 'linux', env, files })).toEqual({ installed: true, by: '/opt/bin/codex' })
  })

  test('an agent is detected by its program on the Path of Windows, with an extension', () => {
    const env = { Path: 'C:\\Windows;"D:\\my tools"' }
    const files = ['D:\\my tools\\codex.cmd']
    expect(look('codex', { os: 'win32', env, files })).toEqual({
      installed: true,
      by: 'D:\\my tools\\codex.cmd',
    })
  })

  test('an agent is detected by its app on macOS', () => {
    const files = ['/Applications/Claude.app/Contents/Info.plist']
    expect(look('claude-desktop', { os: 'darwin', files })?.by).toBe('/Applications/Claude.app')
    expect(look('claude-desktop', { os: 'linux', files })?.installed).toBe(false)
  })

  test('an agent is detected by its folder, also with a wildcard', () => {
    const files = ['C:\\Users\\ada\\AppData\\Local\\Packages\\Claude_x\\a']
    expect(look('claude-desktop', { os: 'win32', files })?.by).toBe(files[0]?.slice(0, -2))
    expect(look('cursor', { os: 'linux', files: ['/home/ada/.cursor/x'] })?.by).toBe('/home/ada/.cursor')
  })

  test('an agent is not detected by a folder that it shares with another agent', () => {
    const files = ['/home/ada/.gemini/config/mcp_config.json']
    expect(look('gemini-cli', { os: 'linux', files })).toEqual({ installed: false, by: null })
    expect(look('antigravity', { os: 'linux', files })?.installed).toBe(true)
  })
})

describe('name', () => {
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
  ])('the name %j is refused for every agent', (name) => {
    for (const agent of AGENTS) expect(checkName(agent, name)).toMatch(/^[A-Z'].*\w$/)
  })

  test.each(['docs', 'My Server', 'a.b/c@d', 'Ünï', 'x'.repeat(128)])(
    'the name %j is accepted for every agent',
    (name) => {
      for (const agent of AGENTS) expect(checkName(agent, name)).toBeNull()
    },
  )

  test('a name with a special meaning for one agent is refused for that agent', () => {
    expect(check('opencode', 'servers')).toContain("'servers' has a special meaning")
    expect(check('cursor', 'servers')).toBeNull()
    expect(check('goose', ' ')).toContain('must not be empty')
    expect(check('goose', 'Con structor')).toContain('Choose another name')
  })

  test('a name is written in the form that the agent stores', () => {
    expect(
      AGENTS.filter((agent) => keyOf(agent, 'My Server') !== 'My Server').map(({ type }) => type),
    ).toEqual(['goose'])
  })
})
